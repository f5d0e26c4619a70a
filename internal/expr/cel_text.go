package expr

import (
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// boundText is a decorator of programs. The cost of a call is charged when its
// result is there, which is too late for functions whose result may be as long
// as the product of their arguments.
func boundText(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := node.(interpreter.InterpretableCall)
	if !ok {
		return node, nil
	}
	switch call.OverloadID() {
	case "string_replace_string_string", "string_replace_string_string_int":
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), replaceText), nil
	}
	if call.Function() == "join" {
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), joinText), nil
	}
	return node, nil
}

func tooLong() ref.Val {
	return types.NewErr("the text would be longer than %d MiB", MaxTextBytes>>20)
}

func replaceText(args ...ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	before, okBefore := args[1].(types.String)
	after, okAfter := args[2].(types.String)
	if !ok || !okBefore || !okAfter {
		return types.NewErr("no such overload: replace")
	}
	limit := -1
	if len(args) == 4 {
		n, ok := args[3].(types.Int)
		if !ok {
			return types.NewErr("no such overload: replace")
		}
		limit = int(n)
	}
	count := strings.Count(string(text), string(before))
	if limit >= 0 {
		count = min(count, limit)
	}
	if len(text)+count*max(len(after)-len(before), 0) > MaxTextBytes {
		return tooLong()
	}
	return types.String(strings.Replace(string(text), string(before), string(after), limit))
}

func joinText(args ...ref.Val) ref.Val {
	list, ok := args[0].(traits.Lister)
	separator := types.String("")
	if len(args) == 2 && ok {
		separator, ok = args[1].(types.String)
	}
	if !ok {
		return types.NewErr("no such overload: join")
	}
	size, ok := list.Size().(types.Int)
	if !ok {
		return types.NewErr("no such overload: join")
	}
	var b strings.Builder
	for i := range size {
		part, ok := list.Get(i).(types.String)
		if !ok {
			return types.NewErr("join: item %d is not a string", i)
		}
		if b.Len()+len(separator)+len(part) > MaxTextBytes {
			return tooLong()
		}
		if i > 0 {
			b.WriteString(string(separator))
		}
		b.WriteString(string(part))
	}
	return types.String(b.String())
}
