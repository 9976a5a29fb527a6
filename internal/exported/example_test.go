package exported_test

import (
	"encoding/json"
	"fmt"

	"fettle.dev/fettle/internal/exported"
)

func Example() {
	tables := []exported.Table{{
		Module: "modules/web", Output: "address", Type: json.RawMessage(`"string"`),
		Values: []exported.Value{{Target: "web2", Value: json.RawMessage(`"10.0.0.2"`)},
			{Target: "web1", Value: json.RawMessage(`"10.0.0.1"`)}},
	}}
	exported.Sort(tables)
	again, err := exported.Parse(exported.Text(tables))
	fmt.Println(again[0].Values[0].Key(), err)
	// Output: web1 <nil>
}
