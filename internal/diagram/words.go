package diagram

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/culm-dev/culm/workflow"
)

// nodeWords say what a node does.
func nodeWords(n *workflow.PlanNode) string {
	def := n.Def
	switch n.Type {
	case workflow.ParallelNode:
		return "all at once"
	case workflow.ChoiceNode:
		return "if " + reading(def.Condition)
	case workflow.MapNode:
		return mapWords(def)
	case workflow.RetryNode:
		return "retry, " + retryWords(def)
	case workflow.FinallyNode:
		return "in any case cleaned up after"
	case workflow.OnFailureNode:
		return "cleaned up after, unless it succeeds"
	case workflow.RepeatNode:
		return fmt.Sprintf("repeat until %s, at most %s", reading(def.Until), count(def.Max, "time"))
	}
	return ""
}

func mapWords(def *workflow.Node) string {
	text := fmt.Sprintf("for each %s of %s", def.Item, reading(def.Source))
	if def.Concurrency != nil {
		text += ", " + strconv.Itoa(*def.Concurrency) + " at a time"
	}
	if def.Tolerate != nil && *def.Tolerate > 0 {
		text += ", of which " + strconv.Itoa(*def.Tolerate) + " may fail"
	}
	return text
}

func retryWords(def *workflow.Node) string {
	text := "at most " + count(def.MaxAttempts, "attempt")
	if def.DelayMS == nil || *def.DelayMS == 0 {
		return text
	}
	text += ", after " + millis(*def.DelayMS)
	if def.Backoff != nil && *def.Backoff != 1 {
		text += ", each time ×" + strconv.FormatFloat(*def.Backoff, 'g', -1, 64)
	}
	if def.MaxDelayMS != nil {
		text += " up to " + millis(*def.MaxDelayMS)
	}
	return text
}

// stepWords say what a step calls or waits for.
func stepWords(def *workflow.Step) string {
	switch def.Type {
	case workflow.ToolStep:
		return def.Tool
	case workflow.AgentStep:
		return "agent " + def.Agent
	case workflow.WorkflowStep:
		return workflow.Ref(def.WorkflowID, def.Revision)
	case workflow.ApprovalStep:
		return "asks for approval"
	case workflow.InputStep:
		return "asks for input"
	case workflow.EventStep:
		return "waits for event " + def.Name
	case workflow.SleepStep:
		if def.Until != nil {
			return "sleeps until " + reading(def.Until)
		}
		if ms, err := strconv.ParseInt(string(def.DurationMS), 10, 64); err == nil {
			return "sleeps " + millis(ms)
		}
		return "sleeps " + reading(def.DurationMS) + " ms"
	}
	return string(def.Type)
}

// stepNotes say what is not as usual about a step.
func stepNotes(def *workflow.Step) []string {
	var notes []string
	switch def.Failure {
	case workflow.ContinueWithError:
		notes = append(notes, "goes on if it fails")
	case workflow.SkipDependents:
		notes = append(notes, "skips the rest if it fails")
	}
	if def.OnUnknown == workflow.OnUnknownRerun {
		notes = append(notes, "may be repeated")
	}
	if def.TimeoutMS != nil {
		notes = append(notes, "at most "+millis(*def.TimeoutMS))
	}
	return notes
}

func budgetWords(l workflow.Limits) string {
	if l == (workflow.Limits{}) {
		return ""
	}
	words := []string{
		count(int(l.MaxSteps), "step"), strconv.FormatInt(l.MaxConcurrency, 10) + " at a time",
		counted(int(l.MaxRetries), "retry", "retries"), millis(l.WallTimeMS),
	}
	if l.MaxTokens != nil {
		words = append(words, count(int(*l.MaxTokens), "token"))
	}
	if l.MaxCostMicros != nil {
		words = append(words, fmt.Sprintf("$%.2f", float64(*l.MaxCostMicros)/1e6))
	}
	return "at most " + strings.Join(words, ", ")
}

// reading says in a few words what a template reads.
func reading(template json.RawMessage) string {
	var ref struct {
		From    string          `json:"from"`
		Step    string          `json:"step"`
		Name    string          `json:"name"`
		Pointer string          `json:"pointer"`
		CEL     string          `json:"cel"`
		Value   json.RawMessage `json:"value"`
	}
	if json.Unmarshal(template, &ref) != nil || ref.From == "" && ref.CEL == "" {
		return strings.Trim(string(template), `"`)
	}
	switch {
	case ref.CEL != "":
		return strings.Join(strings.Fields(ref.CEL), " ")
	case ref.From == "literal":
		return string(ref.Value)
	case ref.From == "previous":
		return "the last " + ref.Step + ref.Pointer
	case ref.Step != "":
		return ref.Step + ref.Pointer
	case ref.Name != "":
		return ref.Name + ref.Pointer
	}
	return ref.From + ref.Pointer
}

// millis is a duration as people write it: 200ms, 1.5s, 15m, 24h.
func millis(ms int64) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

func count(n int, what string) string { return counted(n, what, what+"s") }

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// shorten cuts a text to so many characters.
func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return strings.TrimRight(string(runes[:most-1]), " ") + "…"
}
