package cases

import (
	"encoding/json"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// Schema is the version of the format, as test_schema says it.
const Schema = 1

// File is a file of cases about one workflow.
type File struct {
	Path    string
	Program *workflow.Program
	Cases   []*Case

	tools   []tool.Tool // all that culm has
	effects map[string]tool.Effect
}

// Case is one run, with what its tools do and what is to come of it.
type Case struct {
	Name string

	args      json.RawMessage
	begin     time.Time      // zero: some time
	authority *run.Authority // nil: everything
	real      []string
	tools     []scripted // by name of the tool
	steps     []scripted // by step
	crash     crash
	mayRepeat []string
	verdicts  map[string]culm.Resolution
	want      want
}

// scripted is what the calls of a tool or step get.
type scripted struct {
	name    string
	replies []rehearsal.Reply
}

// crash is where the process dies.
type crash struct {
	everywhere bool
	at         *rehearsal.Crash // nil: nowhere
}

// want is what is to come of a run. Zero fields want nothing.
type want struct {
	refused string // with what code the start is
	status  run.Status
	failure *failure
	output  json.RawMessage // exactly
	has     json.RawMessage // at least
	steps   map[string]run.StepStatus
	inDoubt []string
	calls   []calls
}

type failure struct {
	code    string
	message string // a part of it
}

// calls is how often a tool is to be called, or by which steps.
type calls struct {
	tool  string
	count int
	steps []string // nil: any
}
