package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/schema"
)

// A schema names every attribute of a kind and says what it takes.
func Example() {
	link := kind.Kind{Name: "link", Main: "path", Attrs: []kind.Attr{
		{Name: "path", Type: cty.String, Required: true},
		{Name: "target", Type: cty.String, Required: true, Doc: "what it points to"},
	}}
	var doc struct {
		Schema string         `json:"$schema"`
		Defs   map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(schema.Document(schema.Module, []kind.Kind{link}), &doc); err != nil {
		fmt.Println(err)
		return
	}
	body := doc.Defs["kind.link"].(map[string]any)
	fmt.Println(doc.Schema)
	fmt.Println(body["required"], body["properties"].(map[string]any)["target"])
	// Output:
	// https://json-schema.org/draft/2020-12/schema
	// [target] map[description:what it points to type:[string number boolean]]
}
