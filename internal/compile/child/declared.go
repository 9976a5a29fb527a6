package child

import (
	"maps"
	"path"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

func writeKinds(w *writer, list []query.OwnKind) {
	w.int(len(list))
	for _, k := range list {
		w.texts([]string{k.Name, k.Doc, k.Main, k.Directory})
		w.rng(k.Range)
		writeAttrs(w, k.Attrs)
		writeAttrs(w, k.Outputs)
	}
}

func readKinds(r *reader) []query.OwnKind {
	var out []query.OwnKind
	for range r.count(13) {
		t := r.texts()
		if len(t) != 4 {
			r.fail("a kind of %d parts", len(t))
			return nil
		}
		k := query.OwnKind{Kind: kind.Kind{Name: t[0], Doc: t[1], Main: t[2]}, Directory: t[3], Range: r.rng()}
		k.Attrs, k.Outputs = readAttrs(r), readAttrs(r)
		out = append(out, k)
	}
	return out
}

// writeAttrs writes the documentation of attributes.
func writeAttrs(w *writer, list []kind.Attr) {
	w.int(len(list))
	for _, a := range list {
		w.text(a.Name)
		w.text(a.Doc)
		w.bool(a.Required)
		typ, val := []byte{}, []byte{}
		if a.Type != cty.NilType {
			typ, _ = ctyjson.MarshalType(a.Type) // of the language, so it can be written
		}
		if a.Default != cty.NilVal {
			val, _ = ctyjson.Marshal(a.Default, cty.DynamicPseudoType)
		}
		w.text(string(typ))
		w.text(string(val))
	}
}

func readAttrs(r *reader) []kind.Attr {
	var out []kind.Attr
	for range r.count(5) {
		a := kind.Attr{Name: r.text(), Doc: r.text(), Required: r.bool()}
		typ, val := r.bytes(), r.bytes()
		var err error
		if len(typ) > 0 {
			a.Type, err = ctyjson.UnmarshalType(typ)
		}
		if err == nil && len(val) > 0 {
			a.Default, err = ctyjson.Unmarshal(val, cty.DynamicPseudoType)
		}
		if err != nil {
			r.fail("the attribute %q", a.Name)
			return nil
		}
		out = append(out, a)
	}
	return out
}

func writeLookups(w *writer, list []source.Lookup) {
	w.int(len(list))
	for _, l := range list {
		w.texts([]string{l.Name, l.Directory, l.URL, l.Format})
		w.texts(l.Command)
		w.num(uint64(l.MaxAge))
		w.num(uint64(l.Timeout))
		w.rng(l.Range)
	}
}

// readLookups checks the fields that determine the file of a snapshot and its query.
func readLookups(r *reader) []source.Lookup {
	var out []source.Lookup
	for range r.count(14) {
		t := r.texts()
		if len(t) != 4 || !isName(t[0]) || path.Clean(t[1]) != t[1] || t[2] != "" && source.CheckURL(t[2]) != nil {
			r.fail("a lookup %q", t)
			return nil
		}
		l := source.Lookup{Name: t[0], Directory: t[1], URL: t[2], Format: t[3], Command: r.texts(),
			MaxAge: time.Duration(r.num()), Timeout: time.Duration(r.num())}
		l.Range = r.rng()
		if (l.URL == "") != (len(l.Command) > 0) {
			r.fail("the lookup %q without a source", l.Name)
		}
		out = append(out, l)
	}
	return out
}

// isName reports whether a text can be a file name without a directory.
func isName(s string) bool { return s != "" && path.Base(s) == s && s[0] != '.' }

func writeRuns(w *writer, list []generator.Run) {
	w.int(len(list))
	for _, g := range list {
		w.texts([]string{g.ID, g.Name, g.Directory, g.Stdin, g.Output, g.Why})
		w.texts(g.Command)
		w.num(uint64(g.Timeout))
		w.int(len(g.Files))
		for _, p := range slices.Sorted(maps.Keys(g.Files)) {
			w.text(p)
			w.text(g.Files[p])
		}
		w.rng(g.Range)
	}
}

func readRuns(r *reader) []generator.Run {
	var out []generator.Run
	for range r.count(17) {
		t := r.texts()
		if len(t) != 6 {
			r.fail("a generator of %d parts", len(t))
			return nil
		}
		g := generator.Run{ID: t[0], Name: t[1], Directory: t[2], Stdin: t[3], Output: t[4], Why: t[5], Command: r.texts(),
			Timeout: time.Duration(r.num()), Files: map[string]string{}}
		for range r.count(2) {
			p := r.text()
			g.Files[p] = r.text()
		}
		g.Range = r.rng()
		if err := g.Valid(); err != nil {
			r.fail("%v", err)
			return nil
		}
		out = append(out, g)
	}
	return out
}
