package workflow

import "slices"

// definitionFields are the fields of a definition. Those that identify it are
// required too, under codes of their own.
func definitionFields() []fieldRule {
	return slices.Concat(
		optional("workflow_schema", "id", "revision", "description", "input_schema", "output_schema"),
		required("steps"),
		optional("plan", "output", "budgets"),
	)
}

// definition reads a whole document.
func (d *decoder) definition(v *value) *Definition {
	if !d.is(v, objectKind) {
		return nil
	}
	if d.isTest(v) {
		return &Definition{}
	}
	d.fields(v, "a definition", definitionFields(), nil)
	def := &Definition{
		Description:  d.str(d.get(v, "description")),
		InputSchema:  d.schema(d.get(v, "input_schema")),
		OutputSchema: d.schema(d.get(v, "output_schema")),
		Output:       d.raw(v.get("output")),
		Budgets:      d.budgets(d.get(v, "budgets")),
	}
	d.identity(v, def)
	d.steps(v.get("steps"), def)
	if plan := d.get(v, "plan"); plan != nil {
		def.Plan = d.node(plan, "/plan")
	}
	return def
}

// isTest refuses a file of test cases, which stands beside a definition and is easily
// given for one, as what it is.
func (d *decoder) isTest(v *value) bool {
	marker := v.get("test_schema")
	if marker == nil || v.get("workflow_schema") != nil {
		return false
	}
	d.report.at(marker, UnsupportedSchema, "these are test cases of a workflow, not a workflow").Hint = "to run them: culm test"
	return true
}

// identity reads what says which definition this is.
func (d *decoder) identity(v *value, def *Definition) {
	def.Schema = d.schemaVersion(v)
	id := v.get("id")
	switch {
	case id == nil:
		d.report.at(v, MissingIdentity, "the definition has no id").Expected = "id: a name of letters, digits, . _ and -"
	case !d.is(id, stringKind):
	case id.text == "":
		d.report.at(id, EmptyID, "the definition's id is empty")
	case !definitionID.MatchString(id.text):
		d.report.at(id, InvalidID, "%q cannot be the id of a definition", id.text).
			Expected = "up to 128 letters, digits, . _ and -, the first a letter or digit"
	default:
		def.ID = id.text
	}
	revision := v.get("revision")
	if revision == nil {
		d.report.at(v, MissingIdentity, "the definition has no revision").Expected = "revision: a whole number, at least 1"
		return
	}
	n, _ := d.integer(revision, InvalidValue, 1, maxRevision)
	def.Revision = int(n)
}

func (d *decoder) schemaVersion(v *value) int {
	version := v.get("workflow_schema")
	if version == nil {
		d.report.at(v, UnsupportedSchema, "the definition does not say which schema it is written in").Expected = "workflow_schema: 1"
		return 0
	}
	if version.kind != numberKind || version.text != "1" {
		d.report.at(version, UnsupportedSchema, "this workflow_schema is not supported").Expected = "1"
		return 0
	}
	return Schema
}

func (d *decoder) steps(v *value, def *Definition) {
	if v == nil || !d.is(v, arrayKind) {
		d.lost.names = true
		return
	}
	if len(v.items) == 0 {
		d.report.at(v, InvalidValue, "there are no steps").Expected = "at least one step"
		d.lost.names = true
	}
	for _, item := range v.items {
		def.Steps = append(def.Steps, d.step(item))
	}
}
