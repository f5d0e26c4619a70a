package culm_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store/memory"
	"github.com/culm-dev/culm/workflow"
)

// What the engine can do, a program that embeds it can do: no method, option or
// result of the engine is missing from this package.
func TestEngineIsAllThere(t *testing.T) {
	t.Parallel()
	outside, inside := reflect.TypeFor[*culm.Engine](), reflect.TypeFor[*engine.Engine]()
	for m := range inside.Methods() {
		own, ok := outside.MethodByName(m.Name)
		if !ok {
			t.Errorf("Engine has no method %s", m.Name)
			continue
		}
		if got, want := signature(own.Type), signature(m.Type); got != want {
			t.Errorf("Engine.%s is %s, and the engine's is %s", m.Name, got, want)
		}
	}
	seen := map[reflect.Type]bool{}
	for m := range outside.Methods() {
		for i := range m.Type.NumIn() {
			compareTypes(t, seen, m.Type.In(i), inside, m.Name, true, i)
		}
		for i := range m.Type.NumOut() {
			compareTypes(t, seen, m.Type.Out(i), inside, m.Name, false, i)
		}
	}
	compareFields(t, seen, reflect.TypeFor[culm.Config](), reflect.TypeFor[engine.Config]())
	compareFields(t, seen, reflect.TypeFor[culm.Error](), reflect.TypeFor[engine.Error]())
	if len(seen) < 12 {
		t.Fatalf("only %d types were compared", len(seen))
	}
}

// signature is a method's type with the two packages' names made the same.
func signature(t reflect.Type) string {
	return strings.ReplaceAll(t.String(), "engine.", "culm.")
}

// compareTypes compares a parameter or result with that of the engine's method.
func compareTypes(t *testing.T, seen map[reflect.Type]bool, own, of reflect.Type, method string, in bool, i int) {
	t.Helper()
	m, ok := of.MethodByName(method)
	if !ok {
		t.Errorf("the engine has no method %s", method)
		return
	}
	other := m.Type.Out
	if in {
		other = m.Type.In
	}
	compareFields(t, seen, own, other(i))
}

// compareFields compares structs of this package and the engine, and those that
// their exported fields lead to.
func compareFields(t *testing.T, seen map[reflect.Type]bool, own, inner reflect.Type) {
	t.Helper()
	for own.Kind() == reflect.Pointer || own.Kind() == reflect.Slice {
		own, inner = own.Elem(), inner.Elem()
	}
	if own == inner || seen[own] || own.Kind() != reflect.Struct {
		return
	}
	seen[own] = true
	for field := range inner.Fields() {
		if !field.IsExported() {
			continue
		}
		mine, ok := own.FieldByName(field.Name)
		if !ok {
			t.Errorf("%s has no field %s", own, field.Name)
			continue
		}
		if got, want := mine.Type.String(), signature(field.Type); got != want {
			t.Errorf("%s.%s is %s, want %s", own, field.Name, got, want)
		}
		if got, want := mine.Tag.Get("json"), field.Tag.Get("json"); got != want {
			t.Errorf("%s.%s is %q in JSON, want %q", own, field.Name, got, want)
		}
		if mine.Type.Kind() == reflect.Slice || mine.Type.Kind() == reflect.Struct {
			compareFields(t, seen, mine.Type, field.Type)
		}
	}
}

// Every code of the engine stands in this package, with the same value.
func TestCodesAreAllThere(t *testing.T) {
	t.Parallel()
	want := codes(t, "internal/engine/errors.go")
	if len(want) < 30 {
		t.Fatalf("found only %d codes", len(want))
	}
	if diff := cmp.Diff(want, codes(t, "errors.go")); diff != "" {
		t.Errorf("codes (-engine +culm):\n%s", diff)
	}
}

func TestSessionsAreTheEngines(t *testing.T) {
	t.Parallel()
	if culm.DefaultSession != engine.DefaultSession || culm.AnySession != engine.AnySession {
		t.Error("the names of sessions differ")
	}
}

func codes(t *testing.T, file string) map[string]string {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found[spec.Names[0].Name] = value
		return true
	})
	return found
}

// What is given to Open reaches the engine: each field of Config.
func TestConfigIsPassedOn(t *testing.T) {
	t.Parallel()
	for field := range reflect.TypeFor[culm.Config]().Fields() {
		if !field.IsExported() {
			t.Errorf("Config.%s cannot be set", field.Name)
			continue
		}
		passed := reflect.ValueOf(culm.EngineConfig(filled(t, field))).FieldByName(field.Name)
		if !passed.IsValid() || passed.IsZero() {
			t.Errorf("Config.%s does not reach the engine", field.Name)
		}
	}
}

// filled is a configuration of which only that field is set.
func filled(t *testing.T, field reflect.StructField) (c culm.Config) {
	t.Helper()
	v := reflect.ValueOf(&c).Elem().FieldByIndex(field.Index)
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(1)
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	case reflect.Struct:
		v.Field(0).SetBool(true)
	case reflect.Interface:
		v.Set(reflect.ValueOf(anything{}))
	default:
		t.Fatalf("Config.%s: mend this test", field.Name)
	}
	return c
}

func TestErrorsAreThisPackages(t *testing.T) {
	t.Parallel()
	disk := memory.New()
	eng, err := culm.Open(t.Context(), disk.Open(), culm.Config{CloseStore: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = eng.Start(t.Context(), culm.Start{Workflow: []byte("{")})
	var refused *culm.Error
	if !errors.As(err, &refused) || refused.Code != culm.CodeInvalidDefinition || !errors.Is(err, &culm.Error{Code: culm.CodeInvalidDefinition}) {
		t.Errorf("a definition that cannot be read: %#v", err)
	}
	if errors.Unwrap(refused) == nil {
		t.Error("the error has lost its cause")
	}
	for _, err := range eng.Logs(t.Context(), "nowhere", culm.LogOptions{}) {
		if !errors.Is(err, &culm.Error{Code: culm.CodeNotFound}) {
			t.Errorf("the log of a run that does not exist: %#v", err)
		}
	}
	for _, err := range eng.Subscribe(t.Context(), "nowhere", 0) {
		if !errors.Is(err, &culm.Error{Code: culm.CodeNotFound}) {
			t.Errorf("events of a run that does not exist: %#v", err)
		}
	}
	if err := eng.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := eng.Continue(t.Context(), "nowhere", culm.ContinueOptions{}); !errors.Is(err, &culm.Error{Code: culm.CodeClosed}) {
		t.Errorf("a closed engine: %#v", err)
	}
}

// anything is a value of each interface that a Config holds.
type anything struct{}

func (anything) Now() time.Time                              { return time.Time{} }
func (anything) AfterFunc(time.Duration, func()) func() bool { return nil }
func (anything) Snapshot() (*workflow.Snapshot, error)       { return nil, nil }
func (anything) Append(string, []run.LogLine)                {}
func (anything) Release(string)                              {}
func (anything) Remove(string) error                         { return nil }
func (anything) Read(context.Context, string, <-chan struct{}) iter.Seq2[run.LogLine, error] {
	return nil
}
