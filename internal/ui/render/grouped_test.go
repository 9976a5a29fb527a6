package render_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/render"
)

// longPlan has 300 changes in two modules, with a few that an operator must see.
func longPlan() *plan.Plan {
	p := &plan.Plan{Target: "web1", Base: 4}
	for i := range 280 {
		p.Changes = append(p.Changes, plan.Change{Action: plan.Create,
			Addr: addr.File(fmt.Sprintf("/srv/www/page%d.html", i)),
			Why:  "new in the list", Source: "modules/web/module.hcl:3"})
	}
	for i := range 12 {
		p.Changes = append(p.Changes, plan.Change{Action: plan.Update,
			Addr: addr.New(addr.KindEdit, fmt.Sprintf("/etc/app.conf#line:option%d", i)),
			Why:  "changed in the list", Source: "modules/app/module.hcl:9", State: fmt.Sprintf("file_line.option%d", i)})
	}
	for i := range 6 {
		c := plan.Change{Action: plan.Run, Addr: addr.New(addr.KindExec, fmt.Sprintf("step%d", i)), Why: "new in the list",
			Source: "modules/app/module.hcl:20"}
		if i == 3 {
			c.Irreversible = "the command has no undo, so its effects stay"
		}
		p.Changes = append(p.Changes, c)
	}
	p.Changes = append(p.Changes,
		plan.Change{Action: plan.Blocked, Addr: "file:/etc/old", Why: "it became a link"},
		plan.Change{Action: plan.Update, Addr: addr.New(addr.KindEdit, "/etc/hosts#line:"+strings.Repeat("long ", 40)),
			Why:    "changed in the list",
			Source: "modules/base/module.hcl:2", State: `file_line.entry["a"]`})
	return p
}

func TestGroupedPlan(t *testing.T) {
	for name, width := range map[string]int{"plan-grouped": 80, "plan-grouped-wide": 120} {
		var b bytes.Buffer
		render.Style{Width: width}.Plan(&b, longPlan(), render.PlanOptions{Grouped: true})
		golden(t, name, b.String())
		for line := range strings.Lines(b.String()) {
			if len([]rune(strings.TrimSuffix(line, "\n"))) > width && !strings.Contains(line, "changed in the list") {
				t.Errorf("%s: this line is wider than the screen: %s", name, line)
			}
		}
	}
}

// TestGroupsAreComplete: each change is counted in one group or has one line, and a change that an
// operator must see has a line.
func TestGroupsAreComplete(t *testing.T) {
	folded := regexp.MustCompile(`(?m)^  \S (\d+) [a-z ]+?  `)
	rapid.Check(t, func(t *rapid.T) {
		p := &plan.Plan{}
		actions := []plan.Action{plan.Create, plan.Update, plan.Remove, plan.Run, plan.Blocked, plan.Reboot, plan.Adopt}
		for i := range rapid.IntRange(51, 200).Draw(t, "changes") {
			c := plan.Change{Action: rapid.SampledFrom(actions).Draw(t, "action"), Why: "why",
				Addr:   addr.New(rapid.SampledFrom(addr.Kinds()).Draw(t, "kind"), fmt.Sprintf("/n%d#x", i)),
				Source: fmt.Sprintf("modules/m%d/module.hcl:1", rapid.IntRange(0, 3).Draw(t, "module"))}
			if rapid.IntRange(0, 9).Draw(t, "irreversible") == 0 {
				c.Irreversible = "it stays"
			}
			p.Changes = append(p.Changes, c)
		}
		var b bytes.Buffer
		render.Style{}.Plan(&b, p, render.PlanOptions{Grouped: true})
		body, _, _ := strings.Cut(b.String(), "\nThese cannot be")
		shown := strings.Count(body, " why")
		for _, m := range folded.FindAllStringSubmatch(body, -1) {
			n, _ := strconv.Atoi(m[1])
			shown += n
		}
		if shown != len(p.Changes) {
			t.Fatalf("%d of %d changes are shown:\n%s", shown, len(p.Changes), body)
		}
		for _, c := range p.Changes {
			must := c.Irreversible != "" || c.Action == plan.Blocked || c.Action == plan.Reboot
			if must && !strings.Contains(body, " "+c.Addr.String()+" ") {
				t.Fatalf("%s %s has no line:\n%s", c.Action, c.Addr, body)
			}
		}
	})
}

func TestShortPlanIsNotGrouped(t *testing.T) {
	var plain, grouped bytes.Buffer
	render.Style{}.Plan(&plain, bigPlan(), render.PlanOptions{})
	render.Style{}.Plan(&grouped, bigPlan(), render.PlanOptions{Grouped: true})
	if plain.String() != grouped.String() {
		t.Errorf("got\n%s\nwant\n%s", grouped.String(), plain.String())
	}
}

func TestDocsFitTheScreen(t *testing.T) {
	var b bytes.Buffer
	s := render.Style{Width: 40}
	s.Pairs(&b, []render.Pair{{"name", strings.Repeat("word ", 30)}, {"other", "short"}})
	s.Paragraphs(&b, strings.Repeat("text ", 20)+"\n\nnext")
	golden(t, "wrapped", b.String())
}
