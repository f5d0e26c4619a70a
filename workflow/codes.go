package workflow

// Code is the stable name of a kind of error. Codes are part of the API: they do
// not change, and a program may decide on them.
type Code string

// Codes of errors in reading a document.
const (
	InvalidUTF8       Code = "invalid_utf8"
	InvalidSyntax     Code = "invalid_syntax"
	EmptyDocument     Code = "empty_document"
	MultipleDocuments Code = "multiple_documents"
	DocumentTooLarge  Code = "document_too_large"
	NestedTooDeeply   Code = "nested_too_deeply"
	DuplicateKey      Code = "duplicate_key"
	InvalidKey        Code = "invalid_key"
	InvalidNumber     Code = "invalid_number"
	AliasRefused      Code = "alias_refused"
	MergeKeyRefused   Code = "merge_key_refused"
	TagRefused        Code = "tag_refused"
)

// Codes of errors in the form of a definition.
const (
	UnsupportedSchema Code = "unsupported_schema"
	MissingIdentity   Code = "missing_identity"
	UnknownField      Code = "unknown_field"
	FieldNotAllowed   Code = "field_not_allowed"
	MissingField      Code = "missing_field"
	ConflictingFields Code = "conflicting_fields"
	WrongType         Code = "wrong_type"
	InvalidValue      Code = "invalid_value"
	UnknownType       Code = "unknown_type"
	EmptyID           Code = "empty_id"
	InvalidID         Code = "invalid_id"
	DuplicateID       Code = "duplicate_id"
	InvalidBudget     Code = "invalid_budget"
	InvalidSchema     Code = "invalid_schema"
	SecretMaterial    Code = "secret_material"
)

// Codes of errors in the plan.
const (
	UnknownStep          Code = "unknown_step"
	StepReused           Code = "step_reused"
	StepUnused           Code = "step_unused"
	EmptyNode            Code = "empty_node"
	MapSourceNotArray    Code = "map_source_not_array"
	ConditionNotBoolean  Code = "condition_not_boolean"
	ChoiceSchemaRequired Code = "choice_schema_required"
)

// Codes of errors in references and templates.
const (
	MalformedReference Code = "malformed_reference"
	MalformedHandle    Code = "malformed_handle"
	ForwardReference   Code = "forward_reference"
	SiblingReference   Code = "sibling_reference"
	BranchReference    Code = "branch_reference"
	CycleReference     Code = "cycle_reference"
	ScopeReference     Code = "scope_reference"
	MaybeMissing       Code = "maybe_missing"
	UnknownItem        Code = "unknown_item"
	PointerExcluded    Code = "pointer_excluded"
	ExpressionInvalid  Code = "expression_invalid"
	SecretMisplaced    Code = "secret_misplaced"
)

// Codes of errors in what a definition calls.
const (
	UnknownWorkflow    Code = "unknown_workflow"
	RevisionMismatch   Code = "revision_mismatch"
	DefinitionConflict Code = "definition_conflict"
	NestingCycle       Code = "nesting_cycle"
	NestedBudget       Code = "nested_budget"
	NestedArgsMissing  Code = "nested_args_missing"
	NestedArgsType     Code = "nested_args_type"
	NestedArgsInvalid  Code = "nested_args_invalid"
	ToolArgsMissing    Code = "tool_args_missing"
	ToolArgsType       Code = "tool_args_type"
	ToolArgsInvalid    Code = "tool_args_invalid"
	TooManyDefinitions Code = "too_many_definitions"
	BundleTooLarge     Code = "bundle_too_large"
	InvalidBundle      Code = "invalid_bundle"
)

// Codes of [BudgetError].
const (
	CeilingExceeded Code = "ceiling_exceeded"
	BudgetWidened   Code = "budget_widened"
)

// CodeInfo documents a [Code].
type CodeInfo struct {
	Code Code
	Doc  string // one line
}

// Codes lists every code that this package reports, with its meaning.
func Codes() []CodeInfo {
	return []CodeInfo{
		{InvalidUTF8, "the file is not UTF-8"},
		{InvalidSyntax, "the file is neither YAML 1.2 nor JSON"},
		{EmptyDocument, "the file holds no document"},
		{MultipleDocuments, "the file holds more than one document"},
		{DocumentTooLarge, "the file is larger than 2 MiB"},
		{NestedTooDeeply, "values nest more than 128 levels deep"},
		{DuplicateKey, "a key stands twice in one object"},
		{InvalidKey, "a key is not a string"},
		{InvalidNumber, "a number that JSON cannot hold"},
		{AliasRefused, "YAML anchors and aliases are not read"},
		{MergeKeyRefused, "YAML merge keys are not read"},
		{TagRefused, "a YAML tag other than the standard ones, or one that does not fit its value"},

		{UnsupportedSchema, "workflow_schema is absent or not 1"},
		{MissingIdentity, "id or revision is absent"},
		{UnknownField, "a field that does not exist"},
		{FieldNotAllowed, "a field that exists, but not for this type of step or node"},
		{MissingField, "a required field is absent"},
		{ConflictingFields, "two fields that exclude each other"},
		{WrongType, "a value of the wrong JSON type"},
		{InvalidValue, "a value of the right type that is out of range or not one of those allowed"},
		{UnknownType, "a type of step or node that does not exist"},
		{EmptyID, "an id that is empty"},
		{InvalidID, "an id with characters that it may not have"},
		{DuplicateID, "two steps, nodes or enclosing items of one name"},
		{InvalidBudget, "a budget out of its range"},
		{InvalidSchema, "a JSON Schema that is not valid or reaches outside itself"},
		{SecretMaterial, "what looks like a credential stands in the definition"},

		{UnknownStep, "a step or node of that name does not exist"},
		{StepReused, "the plan runs a step more than once"},
		{StepUnused, "the plan does not run a step"},
		{EmptyNode, "a sequence or parallel without nodes"},
		{MapSourceNotArray, "what a map goes over is not an array"},
		{ConditionNotBoolean, "a condition that is not a boolean"},
		{ChoiceSchemaRequired, "a condition reads a step whose output has no schema"},

		{MalformedReference, "an object looks like a reference and is none"},
		{MalformedHandle, "a secret handle that is not exactly {$secret: name}"},
		{ForwardReference, "a reference to what runs later"},
		{SiblingReference, "a reference to what runs at the same time"},
		{BranchReference, "a reference to the other branch of a choice"},
		{CycleReference, "a step or node refers to itself or to what it is part of"},
		{ScopeReference, "a reference into the body of a map or repeat from outside, or previous outside a repeat"},
		{MaybeMissing, "a reference to what may not have run"},
		{UnknownItem, "no enclosing map has an item of that name"},
		{PointerExcluded, "a pointer to a place that the schema rules out"},
		{ExpressionInvalid, "a CEL expression that does not compile"},
		{SecretMisplaced, "a secret handle outside the arguments of a tool or workflow"},

		{UnknownWorkflow, "no workflow of that id is known"},
		{RevisionMismatch, "the workflow is known, but not in that revision"},
		{DefinitionConflict, "two files hold different content under the same id and revision"},
		{NestingCycle, "a workflow nests itself"},
		{NestedBudget, "a nested definition asks for more than the root's budget"},
		{NestedArgsMissing, "the nested workflow requires an argument that is not given"},
		{NestedArgsType, "an argument of a type that the nested workflow does not accept"},
		{NestedArgsInvalid, "a literal argument that the nested workflow does not accept"},
		{ToolArgsMissing, "the tool requires an argument that is not given"},
		{ToolArgsType, "an argument of a type that the tool does not accept"},
		{ToolArgsInvalid, "a literal argument that the tool does not accept"},
		{TooManyDefinitions, "more than 32 definitions are reached"},
		{BundleTooLarge, "all definitions together are larger than 512 KiB in canonical form"},
		{InvalidBundle, "a pinned bundle that is not one"},

		{CeilingExceeded, "a budget asks for more than the operator's ceiling"},
		{BudgetWidened, "a caller asks for more than the definition's budget"},
	}
}
