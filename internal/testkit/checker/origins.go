package checker

import (
	"bytes"
	"fmt"
)

// checkOrigins holds what runs took over against the journals that it is from.
func checkOrigins(checks map[string]*check) []Finding {
	var found []Finding
	for _, c := range checks {
		for _, lf := range c.now.order {
			origin := checks[lf.from]
			if lf.from == "" || origin == nil {
				continue
			}
			if message := lf.differs(origin.now.steps[lf.id]); message != "" {
				found = append(found, Finding{Rule: RuleAdopted, Run: c.run, Step: lf.id, Sequence: lf.ended, Message: message})
			}
		}
	}
	return found
}

// differs says how an adopted outcome is another than that of the step that ran.
func (lf *leaf) differs(ran *leaf) string {
	switch {
	case ran == nil || ran.from != "":
		return fmt.Sprintf("run %s did not run it", lf.from)
	case ran.status != lf.status:
		return fmt.Sprintf("it %s in run %s, and is taken over as %s", ran.status, lf.from, lf.status)
	case !bytes.Equal(ran.output, lf.output) || !bytes.Equal(ran.failure, lf.failure):
		return fmt.Sprintf("its outcome is not that in run %s", lf.from)
	case (ran.blob == nil) != (lf.blob == nil) || ran.blob != nil && *ran.blob != *lf.blob:
		return fmt.Sprintf("its output is not that in run %s", lf.from)
	}
	return ""
}
