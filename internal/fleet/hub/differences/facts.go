package differences

import (
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/fact"
)

// valuesOf returns reported facts as the values of their types. A fact that is unknown in this version, or that has not
// its type, is missing: then targets that use it are failed targets.
func valuesOf(reported map[string]string) map[string]cty.Value {
	out := make(map[string]cty.Value, len(reported))
	for name, text := range reported {
		f, err := fact.Find(name)
		if err != nil {
			continue
		}
		if f.Type == cty.String {
			out[name] = cty.StringVal(text)
		} else if v, err := ctyjson.Unmarshal([]byte(text), f.Type); err == nil && !v.IsNull() {
			out[name] = v
		}
	}
	return out
}
