package sample

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/workflow"
)

//go:embed workflows
var workflows embed.FS

// Label is the label that says what a run of a sample is called.
const Label = "sample"

// The runs of a sample.
const (
	Complete  = "complete"  // succeeded, with every kind of node; started under a key
	Failed    = "failed"    // failed, and was cleaned up after
	Restarted = "restarted" // succeeded: failed, begun again at the step that failed
	Cancelled = "cancelled" // cancelled, and was cleaned up after
	Resolved  = "resolved"  // succeeded, after a verdict, with more time
	Doubtful  = "doubtful"  // suspended with a step in doubt
	Long      = "long"      // suspended with a step in doubt, and a checkpoint
	Asleep    = "asleep"    // suspended by its owner's end while it sleeps, for the second time
	Recovered = "recovered" // its owner died in a call, and it was suspended since
	Killed    = "killed"    // its owner died in a call
	Abandoned = "abandoned" // its owner died while it slept
	Withdrawn = "withdrawn" // its owner died with a cancel waiting for it
	Answered  = "answered"  // its owner died with a verdict waiting for it
)

// Names are the runs of a sample.
func Names() []string {
	return []string{
		Complete, Failed, Restarted, Cancelled, Resolved, Doubtful, Long, Asleep, Recovered, Killed, Abandoned, Withdrawn, Answered,
	}
}

// Start is how a run of a sample was started.
func Start(name string) (culm.Start, error) {
	s := culm.Start{Labels: map[string]string{Label: name}}
	file := name
	switch name {
	case Complete:
		s.SessionID, s.Key, s.Args = "night", "complete-1", json.RawMessage(`{"words": ["good", "bad", "fine"]}`)
		s.Labels["env"] = "prod"
	case Failed:
		file = "broken"
	case Cancelled, Asleep, Abandoned:
		file = "nap"
	case Resolved, Doubtful:
		file = "charge"
	case Recovered, Killed, Withdrawn:
		file = "halted"
	}
	var err error
	s.Workflow, err = workflows.ReadFile("workflows/" + file + ".yaml")
	if err != nil {
		return s, fmt.Errorf("start run %s: %w", name, err)
	}
	return s, nil
}

// catalog has the definitions that others nest.
func catalog() (workflow.Catalog, error) {
	files, err := fs.Glob(workflows, "workflows/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("read workflows: %w", err)
	}
	var sources []*workflow.Source
	for _, name := range files {
		data, err := workflows.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read workflows: %w", err)
		}
		src, err := workflow.Load(name, data)
		if err != nil {
			return nil, fmt.Errorf("read workflow %s: %w", name, err)
		}
		sources = append(sources, src)
	}
	return workflow.NewSnapshot(sources...), nil
}
