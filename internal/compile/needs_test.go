package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// For random needs and layers: either modules need each other, and the error names an existing
// cycle, or each module is after all its needs. Layers alone never cause an error.
func TestNeedsByProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d", "e"}[:rapid.IntRange(1, 5).Draw(t, "modules")]
		own := map[string][]string{}
		texts := map[string]string{}
		for _, n := range names {
			text := ""
			for _, other := range names {
				if rapid.IntRange(0, 5).Draw(t, "need") == 0 {
					own[n] = append(own[n], other)
					text += fmt.Sprintf("needs %q {}\n", other)
				}
			}
			texts["modules/"+n+"/m.hcl"] = text + fmt.Sprintf(
				"file \"/etc/%s1\" { content = \"1\" }\nfile \"/etc/%s2\" { content = target.name }\n", n, n)
		}
		layers := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, len(names), rapid.ID).Draw(t, "layers")
		texts["fettle.hcl"] = fmt.Sprintf(
			"layer = %s\ntarget \"x\" {}\ntarget \"y\" {}\ntarget_group \"all\" {\n  labels  = {}\n  modules = %s\n}\n",
			list(layers), list(rapid.Permutation(names).Draw(t, "order")))
		r := compile.Open(repo.MapTree(texts))
		res, ds := r.Compile(compile.Input{Target: "y"})
		if circular(names, own) {
			checkCircle(t, own, shown(ds))
			return
		}
		if ds.HasErrors() {
			t.Fatalf("it is a mistake:\n%s", shown(ds))
		}
		f := r.Fleet()
		for _, target := range []string{"x", "y"} {
			got, ds := f.List(compile.Input{Target: target})
			if ds.HasErrors() || target == "y" && got.String() != res.List.String() {
				t.Fatalf("of many it is\n%s%s\nalone\n%s", got, shown(ds), res.List)
			}
		}
		checkOrder(t, r, res)
		checkLayers(t, r, own, layers)
	})
}

func list(names []string) string { return strings.ReplaceAll(fmt.Sprintf("%q", names), " ", ", ") }

// circular reports whether modules need each other. It repeatedly removes modules without remaining
// needs.
func circular(names []string, own map[string][]string) bool {
	left := slices.Clone(names)
	for {
		n := len(left)
		left = slices.DeleteFunc(left, func(m string) bool {
			return !slices.ContainsFunc(own[m], func(o string) bool { return slices.Contains(left, o) })
		})
		if len(left) == n {
			return n > 0
		}
	}
}

// checkCircle: the message is a way along needs, from a module to itself.
func checkCircle(t *rapid.T, own map[string][]string, said string) {
	_, way, found := strings.Cut(said, "Each of these modules needs the next one: ")
	if !found || strings.Count(said, "error:") != 1 {
		t.Fatalf("modules need each other, and it says\n%s", said)
	}
	var hops []string
	for _, hop := range strings.Split(way[:strings.Index(way, ". Remove")], " → ") {
		name, _, _ := strings.Cut(hop, " ")
		hops = append(hops, name)
	}
	for i := range hops[1:] {
		if !slices.Contains(own[hops[i]], hops[i+1]) {
			t.Fatalf("%s does not need %s:\n%s", hops[i], hops[i+1], said)
		}
	}
	if len(hops) < 2 || hops[0] != hops[len(hops)-1] {
		t.Fatalf("the way is %q", hops)
	}
}

// checkOrder: all states of a needed module precede the states of the module that needs it.
func checkOrder(t *rapid.T, r *compile.Repository, res compile.Result) {
	first, last := map[string]int{}, map[string]int{}
	for i, s := range res.List {
		name := strings.TrimPrefix(s.Path(), "/etc/")[:1]
		if _, ok := first[name]; !ok {
			first[name] = i
		}
		last[name] = i
	}
	targets, _ := r.Targets()
	if len(targets[0].Errors) > 0 {
		t.Fatal(targets[0].Errors)
	}
	for _, u := range targets[0].Uses {
		for _, n := range u.Needs {
			if last[n.Name] > first[u.Name] {
				t.Fatalf("%s needs %s and comes before it:\n%s", u.Name, n.Name, res.List)
			}
		}
	}
}

// checkLayers: a layer is needed by all modules except itself, the layers before it, and the
// modules that these need.
func checkLayers(t *rapid.T, r *compile.Repository, own map[string][]string, layers []string) {
	targets, _ := r.Targets()
	below := map[string]bool{}
	var sink func(m string)
	sink = func(m string) {
		if !below[m] {
			below[m] = true
			for _, n := range own[m] {
				sink(n)
			}
		}
	}
	for _, layer := range layers {
		sink(layer)
		for _, u := range targets[0].Uses {
			has := slices.ContainsFunc(u.Needs, func(n query.Need) bool { return n.Name == layer })
			if want := !below[u.Name] || slices.Contains(own[u.Name], layer); has != want {
				t.Fatalf("that %s needs the layer %s is %t, with %v and %v", u.Name, layer, has, own, layers)
			}
		}
	}
}
