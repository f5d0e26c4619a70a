package expr

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/common/types"

	"github.com/culm-dev/culm/internal/canon"
)

// provider knows the object types that schemas declare, beside those of the
// language. It remembers what was asked for in vain, for better messages.
type provider struct {
	types.Provider
	objects map[string]*shape
	missed  map[string]string // what an object lacks -> what is to be said of it
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if s, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(s.celType), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if s, ok := p.objects[name]; ok {
		return sortedNames(s.fields), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider. Without accessors the values
// are read as the maps that they are.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	s, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}
	if found := s.field(field); found != nil {
		return &types.FieldType{Type: found.celType}, true
	}
	p.missed[field] = fmt.Sprintf("%s has no %q", strings.TrimPrefix(name, typePrefix), field)
	if near := canon.Near(field, sortedNames(s.fields)); near != "" {
		p.missed[field] += fmt.Sprintf(", did you mean %q?", near)
	}
	return nil, false
}
