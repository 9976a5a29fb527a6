package child

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// writeResult writes the result of a compilation.
func writeResult(w *writer, res compile.Result) {
	w.text(res.Target)
	w.text(res.List.String())
	for _, s := range res.List {
		w.text(s.Source)
	}
	writePolicy(w, res.Policy)
	w.int(len(res.Blobs))
	for _, digest := range slices.Sorted(maps.Keys(res.Blobs)) {
		writeBlob(w, res.Blobs[digest])
	}
	w.int(len(res.States))
	for _, st := range res.States {
		w.text(st.ID)
		w.rng(st.Range)
		w.int(len(st.Steps))
		for _, i := range st.Steps {
			w.int(i)
		}
		w.texts(st.After)
	}
	w.texts(res.FactsUsed)
	w.texts(res.Files)
	w.int(len(res.Outputs))
	for _, o := range res.Outputs {
		w.text(string(o.Addr))
		w.text(o.Step.String())
	}
	w.int(len(res.Deferred))
	for _, h := range res.Deferred {
		w.text(h.ID)
		w.rng(h.Range)
		w.text(string(h.Addr))
		w.int(len(h.Needs))
		for _, a := range h.Needs {
			w.text(string(a))
		}
		w.text(h.WaitsFor)
	}
	w.int(len(res.Exports))
	for _, o := range res.Exports {
		w.texts([]string{o.Module, o.As, o.Output, o.Value})
	}
}

func readExports(r *reader) []exported.Own {
	var out []exported.Own
	for range r.count(5) {
		t := r.texts()
		if len(t) != 4 {
			r.fail("an exported value of %d parts", len(t))
			return nil
		}
		out = append(out, exported.Own{Module: t[0], As: t[1], Output: t[2], Value: t[3]})
	}
	if err := exported.CheckOwn(out); r.err == nil && err != nil {
		r.fail("exports: %v", err)
	}
	return out
}

// readOutputs reads the commands whose output is used, each with its line in the
// list.
func readOutputs(r *reader, list step.List) []compile.Output {
	var commands map[addr.Addr]step.Step
	var out []compile.Output
	for range r.count(2) {
		a, line := addr.Addr(r.text()), r.text()
		if commands == nil {
			commands = map[addr.Addr]step.Step{}
			for _, s := range list {
				if s.Verb == step.Exec {
					commands[s.Addr()] = s.Stored()
				}
			}
		}
		s, ok := commands[a]
		if !ok || s.String() != line {
			r.fail("the output of %q, which is not a command of the list", a)
			return nil
		}
		out = append(out, compile.Output{Addr: a, Step: s})
	}
	return out
}

func readHeld(r *reader) []compile.Deferred {
	var out []compile.Deferred
	for range r.count(11) {
		h := compile.Deferred{ID: r.text(), Range: r.rng(), Addr: addr.Addr(r.text())}
		for range r.count(1) {
			h.Needs = append(h.Needs, addr.Addr(r.text()))
		}
		h.WaitsFor = r.text()
		out = append(out, h)
	}
	return out
}

func writePolicy(w *writer, p catalog.Policy) {
	w.texts([]string{p.OnFailure, p.OnCrash, p.OnCheckFailure, p.Drift, p.LockOut, p.ConfirmWithin, p.Repository})
	w.bool(p.RequireUndo)
}

func readPolicy(r *reader) catalog.Policy {
	t := r.texts()
	if len(t) != 7 {
		r.fail("a policy of %d parts", len(t))
		return catalog.Policy{}
	}
	return catalog.Policy{OnFailure: t[0], OnCrash: t[1], OnCheckFailure: t[2], Drift: t[3], LockOut: t[4],
		ConfirmWithin: t[5], Repository: t[6], RequireUndo: r.bool()}
}

// writeBlob writes a reference to a file of the repository, and the content of any other blob.
func writeBlob(w *writer, b kind.Blob) {
	if _, ours := b.Tree.(*remoteTree); ours {
		w.bool(false)
		w.text(b.Digest)
		w.text(b.Path)
		return
	}
	data := b.Data
	if b.Tree != nil {
		data, _ = b.Tree.ReadFile(b.Path) // of the standard library, which is in memory
	}
	w.bool(true)
	w.text(string(data))
}

// readBlob reads a blob and verifies its digest: from the inline content, or through the tree.
func readBlob(r *reader, tree repo.Tree) kind.Blob {
	if r.bool() {
		return inline(r.bytes())
	}
	digest, path := r.text(), r.text()
	if r.err != nil {
		return kind.Blob{}
	}
	got, size, err := tree.Digest(path)
	if err != nil || got != digest {
		r.fail("%q does not have the content %q", path, digest)
		return kind.Blob{}
	}
	return kind.Blob{Digest: digest, Size: size, Tree: tree, Path: path}
}

func inline(data []byte) kind.Blob {
	sum := sha256.Sum256(data)
	return kind.Blob{Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(data)), Data: data}
}

func readResult(r *reader, tree repo.Tree) compile.Result {
	res := compile.Result{Target: r.text()}
	res.List = readList(r)
	res.Policy = readPolicy(r)
	res.Blobs = map[string]kind.Blob{}
	for range r.count(2) {
		b := readBlob(r, tree)
		if r.err != nil {
			return compile.Result{}
		}
		res.Blobs[b.Digest] = b
	}
	res.States = readStates(r, len(res.List))
	res.FactsUsed, res.Files = r.texts(), r.texts()
	res.Outputs, res.Deferred = readOutputs(r, res.List), readHeld(r)
	res.Exports = readExports(r)
	for _, s := range res.List {
		for _, d := range s.Blobs() {
			if _, ok := res.Blobs[d]; !ok {
				r.fail("no content for %s", s)
			}
		}
	}
	return res
}

func readList(r *reader) step.List {
	text := r.bytes()
	if r.err != nil {
		return nil
	}
	list, ds := step.Parse("list", text)
	if ds.HasErrors() {
		r.fail("a list with errors: %s", ds[0])
		return nil
	}
	for i := range list {
		if list[i].Verb == step.Include {
			r.fail("a list that includes another")
			return nil
		}
		list[i].Written, list[i].Range, list[i].Source = "", diag.Range{}, r.text()
	}
	if list.String() != string(text) {
		r.fail("a list that is not canonical")
	}
	return list
}

func readStates(r *reader, steps int) []compile.StateInfo {
	var out []compile.StateInfo
	for range r.count(10) {
		st := compile.StateInfo{ID: r.text(), Range: r.rng()}
		for range r.count(1) {
			i := r.int()
			if i >= steps {
				r.fail("step %d of %d", i, steps)
				return nil
			}
			st.Steps = append(st.Steps, i)
		}
		st.After = r.texts()
		out = append(out, st)
	}
	return out
}
