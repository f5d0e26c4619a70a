package docs_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	facade "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
)

// jsonNames are the fields that a type has in JSON, those of embedded ones too.
func jsonNames(of reflect.Type) []string {
	var found []string
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous {
			found = append(found, jsonNames(f.Type)...)
			continue
		}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			found = append(found, name)
		}
	}
	return found
}

// Every field that programs read stands in the page about formats, and no other.
func TestFormats(t *testing.T) {
	t.Parallel()
	for heading, of := range map[string]reflect.Type{
		"## A run":              reflect.TypeFor[run.View](),
		"## A step":             reflect.TypeFor[run.SnapshotStep](),
		"## A line of the list": reflect.TypeFor[facade.Summary](),
	} {
		want, got := jsonNames(of), names(section(t, "docs/formats.md", heading))
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("docs/formats.md, %s (-code +page):\n%s", heading, diff)
		}
	}
}
