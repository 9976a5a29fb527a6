package compile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/repo"
)

// environmentDraw is a drawn environment. selects is the value of the label l, * for any value, or "" for no member.
// check is empty without a check, or "true" if environments of branches have it, or "false".
type environmentDraw struct{ name, parent, selects, domain, value, check string }

// environmentsWorld is a drawn repository with environments. "" is a level that does not set the variable.
type environmentsWorld struct {
	all                          []environmentDraw
	repository, role, group, own string
	targets                      map[string]string // the label l by target
	// dynamic is the environment of enrolled targets with the label a, if its name is set. selects is not used.
	dynamic environmentDraw
}

func drawEnvironments(t *rapid.T) environmentsWorld {
	value := func(what string) string {
		return rapid.SampledFrom([]string{"", "", what}).Draw(t, what)
	}
	w := environmentsWorld{repository: value("repository"), role: value("role"), group: value("group"), own: value("own"),
		targets: map[string]string{}}
	for i := range rapid.IntRange(0, 6).Draw(t, "environments") {
		e := environmentDraw{name: fmt.Sprintf("e%d", i), value: value(fmt.Sprintf("v%d", i)),
			selects: rapid.SampledFrom([]string{"", "a", "b", "c", "*"}).Draw(t, "selects"),
			domain:  rapid.SampledFrom([]string{"", "", fmt.Sprintf("d%d.org", i)}).Draw(t, "domain"),
			check:   rapid.SampledFrom([]string{"", "false", "true", "true", "true", "true"}).Draw(t, "check")}
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "has parent") > 0 {
			e.parent = fmt.Sprintf("e%d", rapid.IntRange(0, i-1).Draw(t, "parent"))
		}
		w.all = append(w.all, e)
	}
	if rapid.IntRange(0, 3).Draw(t, "dynamic") > 0 {
		w.dynamic = environmentDraw{name: rapid.SampledFrom([]string{"review", "review", "e0"}).Draw(t, "name"),
			domain: rapid.SampledFrom([]string{"", "r.org"}).Draw(t, "domain of dynamic"), value: value("dynamic")}
		if len(w.all) > 0 {
			w.dynamic.parent = rapid.SampledFrom(w.all).Draw(t, "parent of dynamic").name
		}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "targets") {
		w.targets[fmt.Sprintf("t%d", i)] = rapid.SampledFrom([]string{"a", "a", "a", "b", "c", "d"}).Draw(t, "label")
	}
	return w
}

// files returns the repository. The environments after the first ones come from one block with for_each.
func (w environmentsWorld) files(blocks int, joined bool) map[string]string {
	var b strings.Builder
	vars := func(v string) string {
		if v == "" {
			return "{}"
		}
		return fmt.Sprintf("{ v = %q }", v)
	}
	fmt.Fprintf(&b, "variable \"v\" { default = \"default\" }\nvars = %s\n", vars(w.repository))
	fmt.Fprintf(&b, "role \"r\" { vars = %s }\n", vars(w.role))
	fmt.Fprintf(&b, "target_group \"g\" {\n  targets = [\"*\"]\n  vars = %s\n}\n", vars(w.group))
	b.WriteString("exec \"show\" { command = [var.v, environment.name, environment.domain, environment.parent] }\n")
	var elements []string
	for i, e := range w.all {
		if i >= blocks {
			elements = append(elements, fmt.Sprintf("%s = { parent = %q, labels = %s, domain = %q, vars = %s }", e.name,
				e.parent, e.labels(), e.domain, vars(e.value)))
			continue
		}
		fmt.Fprintf(&b, "environment %q {\n  parent = %q\n  domain = %q\n  vars = %s\n", e.name, e.parent, e.domain,
			vars(e.value))
		if e.selects != "" {
			fmt.Fprintf(&b, "  labels = %s\n", e.labels())
		}
		if e.check != "" {
			fmt.Fprintf(&b, "  check \"c\" {\n    file     = %q\n    branches = %s\n  }\n",
				"/of${environment.parent}/in${environment.name}/at${environment.domain}", e.check)
		}
		b.WriteString("}\n")
	}
	if len(elements) > 0 {
		fmt.Fprintf(&b, "environment \"made\" {\n  for_each = {\n    %s\n  }\n  parent = each.value.parent\n"+
			"  domain = each.value.domain\n  labels = each.value.labels\n  vars = each.value.vars\n}\n",
			strings.Join(elements, "\n    "))
	}
	files := map[string]string{}
	var enrolled []string
	for _, name := range slices.Sorted(maps.Keys(w.targets)) {
		if joined {
			enrolled = append(enrolled, fmt.Sprintf("%q: {\"labels\": {\"l\": %q}%s}", name, w.targets[name],
				w.attribute(w.targets[name])))
		}
		if !joined {
			fmt.Fprintf(&b, "target %q {\n  labels = { l = %q }\n  roles = [\"r\"]\n  vars = %s\n}\n", name, w.targets[name],
				vars(w.own))
		}
	}
	if joined {
		files["enrolled.fettle.json"] = "{\"enrolled\": {" + strings.Join(enrolled, ", ") + "}}"
	}
	files["fettle.hcl"] = b.String()
	return files
}

// attribute returns the environment of an enrolled target in its block.
func (w environmentsWorld) attribute(label string) string {
	if d := w.dynamic; label == "a" && d.name != "" {
		text, _ := json.Marshal(map[string]any{"name": d.name, "parent": d.parent, "domain": d.domain,
			"vars": map[string]string{"v": d.value}})
		return ", \"environment\": " + strings.Replace(string(text), `"vars":{"v":""}`, `"vars":{}`, 1)
	}
	return ""
}

// moved reports whether a target is in the dynamic environment: a declared environment of its name takes precedence.
func (w environmentsWorld) moved(label string, joined bool) bool {
	return joined && label == "a" && w.dynamic.name != "" && w.chainOf(w.dynamic.name) == nil
}

// labels selects no target if the environment has no members: no target has the value "none".
func (e environmentDraw) labels() string {
	if e.selects == "" {
		return `{ l = "none" }`
	}
	return fmt.Sprintf("{ l = %q }", e.selects)
}

// chainOf returns an environment and its parents, the outermost first.
func (w environmentsWorld) chainOf(name string) (out []environmentDraw) {
	for name != "" {
		i := slices.IndexFunc(w.all, func(e environmentDraw) bool { return e.name == name })
		if i < 0 {
			return nil
		}
		out, name = append(out, w.all[i]), w.all[i].parent
	}
	slices.Reverse(out)
	return out
}

// expected returns the list of a target by the definition of environments, or "" for a conflict.
func (w environmentsWorld) expected(label string, joined bool) (list, environment string) {
	var chain []environmentDraw
	selecting := 0
	for _, e := range w.all {
		if e.selects != label && e.selects != "*" {
			continue
		}
		selecting++
		inside := w.chainOf(e.name)
		others := 0
		for _, up := range inside {
			if up.selects == label || up.selects == "*" {
				others++
			}
		}
		if others > 0 && others == w.selecting(label) {
			chain = inside
		}
	}
	if w.moved(label, joined) {
		chain = append(w.chainOf(w.dynamic.parent), w.dynamic)
	} else if selecting > 0 && chain == nil {
		return "", ""
	}
	value, parent := "default", ""
	levels := []string{w.repository, w.role}
	if joined {
		levels = levels[:1] // an enrolled target has no role
	}
	for _, e := range chain {
		levels = append(levels, e.value)
		environment, parent = e.name, e.parent
	}
	if levels = append(levels, w.group); !joined {
		levels = append(levels, w.own)
	}
	for _, v := range levels {
		if v != "" {
			value = v
		}
	}
	list = fmt.Sprintf("EXEC show %s %s %s %s\n", value, orQuotes(environment), orQuotes(w.domainOf(chain)),
		orQuotes(parent))
	return list, environment
}

// selecting counts the environments that select a label.
func (w environmentsWorld) selecting(label string) (n int) {
	for _, e := range w.all {
		if e.selects == label || e.selects == "*" {
			n++
		}
	}
	return n
}

// domainOf returns the public name of an environment.
func (w environmentsWorld) domainOf(chain []environmentDraw) (domain string) {
	for _, e := range chain {
		switch {
		case e.domain != "":
			domain = e.domain
		case domain != "":
			domain = e.name + "." + domain
		}
	}
	return domain
}

// checkOf returns the file of the check that an environment has, "" for none. blocks is the number of environments with
// blocks of their own, which can have checks.
func (w environmentsWorld) checkOf(name string, dynamic bool, blocks int) string {
	chain := w.chainOf(name)
	if dynamic {
		chain = append(w.chainOf(w.dynamic.parent), w.dynamic)
	}
	e, from := chain[len(chain)-1], name
	if dynamic {
		from = e.parent
	}
	i := slices.IndexFunc(w.all, func(e environmentDraw) bool { return e.name == from })
	if i < 0 || i >= blocks || w.all[i].check == "" || dynamic && w.all[i].check != "true" {
		return ""
	}
	return "/of" + e.parent + "/in" + e.name + "/at" + w.domainOf(chain)
}

func orQuotes(text string) string {
	if text == "" {
		return `""`
	}
	return text
}

// TestRandomEnvironments compares lists and members with the definition, for random environments.
func TestRandomEnvironments(t *testing.T) {
	nested, conflicts, members, moved, inherited := 0, 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := drawEnvironments(rt)
		joined := rapid.Bool().Draw(rt, "joined")
		blocks := max(rapid.IntRange(0, len(w.all)).Draw(rt, "blocks"), rapid.IntRange(0, len(w.all)).Draw(rt, "more"))
		files := w.files(blocks, joined)
		defer func() {
			if rt.Failed() {
				rt.Logf("%s\n%s", files["fettle.hcl"], files["enrolled.fettle.json"])
			}
		}()
		tree := repo.MapTree(files)
		want, wrong := map[string][]string{}, false
		for _, name := range slices.Sorted(maps.Keys(w.targets)) {
			list, environment := w.expected(w.targets[name], joined)
			res, ds := Compile(Input{Tree: tree, Target: name})
			switch {
			case list == "" && !strings.Contains(fmt.Sprint(ds.Err()), "Target in two environments"):
				rt.Fatalf("%s: %v", name, ds.Err())
			case list == "":
				wrong, conflicts = true, conflicts+1
			case ds.Err() != nil || res.List.String() != list:
				rt.Fatalf("%s: %v\n%s\nnot\n%s", name, ds.Err(), res.List, list)
			case environment != "":
				want[environment] = append(want[environment], name)
				members++
				if w.moved(w.targets[name], joined) {
					moved++
				}
				if len(w.chainOf(environment)) > 1 {
					nested++
				}
			}
		}
		all, ds := Scopes(tree)
		if wrong && !joined {
			if ds.Err() == nil {
				rt.Fatal("a conflict is not an error")
			}
			return
		}
		if ds.Err() != nil || all.Valid() != nil {
			rt.Fatal(ds.Err(), all.Valid())
		}
		for _, s := range all.Scopes {
			if !wrong && !slices.Equal(s.Targets, want[s.Name]) {
				rt.Fatalf("%s has the members %v, not %v", s.ID(), s.Targets, want[s.Name])
			}
			file := ""
			for _, c := range s.Checks {
				file += c.File
			}
			if want := w.checkOf(s.Name, s.Dynamic, blocks); file != want {
				rt.Fatalf("%s has the check %q, not %q", s.ID(), file, want)
			}
			if s.Dynamic && file != "" {
				inherited++
			}
		}
	})
	if t.Logf("%d members, %d of nested and %d of dynamic environments, %d conflicts, %d checks from parents", members,
		nested, moved, conflicts, inherited); nested < 10 || moved < 5 || conflicts < 10 || members < 30 || inherited == 0 {
		t.Error("this shows nothing")
	}
}
