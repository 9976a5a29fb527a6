package hub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestAnswersOfAHub: each answer of a hub has its format, has no list that is null, and matches the description of the
// API. The routes come from the table, so a new route is checked too.
func TestAnswersOfAHub(t *testing.T) {
	t.Parallel()
	a := newSeveral(t).prepared()
	d := described{t: t, schemas: jsonschema.NewCompiler(), seen: map[string]bool{}}
	d.schemas.DefaultDraft(jsonschema.Draft2020)
	text, err := json.Marshal(api.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err == nil {
		err = d.schemas.AddResource("hub.json", doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.judge = d.judge
	all := slices.DeleteFunc(route.All(), func(r route.Row) bool { return r.Stream || r.Upgrade })
	slices.SortStableFunc(all, func(x, y route.Row) int { // before the objects are removed
		return strings.Compare(x.Method, y.Method)
	})
	for _, r := range all {
		a.check(t, a.near(), "http://hub", r)
		if !r.Changes() && !d.seen[r.Name()] && !asksAgent(r) { // needs an agent that is connected
			t.Errorf("%s has no answer", r.Name())
		}
	}
}

// asksAgent reports whether the answer of a route comes from the agent of a target.
func asksAgent(r route.Row) bool {
	return slices.Contains([]string{route.Run().Path, route.Runs().Path, route.Drift().Path, route.RollbackPlan().Path},
		r.Path)
}

// described compares answers with the description of the API.
type described struct {
	t       *testing.T
	schemas *jsonschema.Compiler
	seen    map[string]bool // names of routes with an answer
}

func (d *described) judge(r route.Row, _ bool, status int, text string) error {
	if status != http.StatusOK {
		return nil
	}
	d.seen[r.Name()] = true
	if r.Plain || r.Path == "/v1/openapi.json" {
		return nil
	}
	var has struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal([]byte(text), &has); err != nil || !strings.HasPrefix(has.Format, "fettle.") {
		return fmt.Errorf("has the format %q: %v", has.Format, err)
	}
	if strings.Contains(text, `s":null`) {
		return errors.New("has a list that is null")
	}
	path := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(r.Path)
	schema, err := d.schemas.Compile("hub.json#/paths/" + path + "/" + strings.ToLower(r.Method) +
		"/responses/200/content/application~1json/schema")
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}
