package directory

import (
	"path"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// tree copies a directory of a module, a step an entry, parents first.
type tree struct {
	s    kind.State
	from string               // the attribute that names the directory
	vars map[string]cty.Value // of templates
	out  kind.Output
	ds   diag.List
}

func (t *tree) fail(detail string, args ...any) {
	t.ds = append(t.ds, t.s.Errorf(t.from, "Source cannot be copied", detail, args...)...)
}

func (t *tree) add(verb step.Verb, args []string, attrs ...step.Attr) {
	st, ds := t.s.Step(verb, args, attrs...)
	t.ds = append(t.ds, ds...)
	if !ds.HasErrors() {
		t.out.Steps = append(t.out.Steps, st)
	}
}

// walk copies what is in the directory from below the path to.
func (t *tree) walk(from, to string) {
	list, err := t.s.Files.ReadDir(from)
	if err != nil {
		t.fail("%v. The path is a directory of the module.", err)
		return
	}
	for _, e := range list {
		name := path.Base(e.Path)
		src, dst := path.Join(from, name), path.Join(to, name)
		switch e.Type {
		case repo.Dir:
			t.add(step.Mkdir, []string{dst}, dirAttrs(t.s, "dir_mode")...)
			t.walk(src, dst)
		case repo.Symlink:
			t.link(src, dst)
		default:
			t.file(src, dst, e.Exec)
		}
	}
}

func (t *tree) file(src, dst string, exec bool) {
	b, key, ok := t.content(src)
	if !ok {
		return
	}
	if t.from == "template" {
		dst = strings.TrimSuffix(dst, ".tmpl")
	}
	attrs := t.s.Owner("")
	attrs[2].Value = ""
	switch m := t.s.Str("file_mode"); {
	case m != "" && m != "0644" && m != "644":
		attrs[2].Value = m
	case m == "" && exec:
		attrs[2].Value = "0755"
	}
	if key != "" {
		attrs[2].Value = t.s.Str("file_mode")
		guarded, ds := t.s.Guard(attrs, "file_mode", key)
		attrs, t.ds = guarded, append(t.ds, ds...)
	}
	t.out.Blobs = append(t.out.Blobs, b)
	t.add(step.Copy, []string{b.Digest, dst}, attrs...)
}

// content is a file as it is, or rendered: sealed then where a secret is in it,
// with the ID of the key.
func (t *tree) content(src string) (b kind.Blob, key string, ok bool) {
	if t.from == "template" {
		text, ds := t.s.Render(src, t.from, t.vars)
		t.ds = append(t.ds, ds...)
		if ds.HasErrors() {
			return kind.Blob{}, "", false
		}
		b, key = kind.TextBlob(text)
		return b, key, true
	}
	b, err := t.s.FileBlob(src)
	if err != nil {
		t.fail("%v.", err)
	}
	return b, "", err == nil
}

// link copies a symbolic link as a link. A link out of the source is an error, because it would have
// another destination on the target.
func (t *tree) link(src, dst string) {
	target, err := t.s.Files.Readlink(src)
	if err != nil {
		t.fail("%v.", err)
		return
	}
	top := path.Clean(t.s.Str(t.from))
	end := path.Join(path.Dir(src), target)
	inside := end == top || strings.HasPrefix(end, top+"/") || top == "." && end != ".." && !strings.HasPrefix(end, "../")
	if path.IsAbs(target) || !inside {
		t.fail("The symbolic link %s points to %q, outside of the source. Declare it as a link of its own.",
			t.s.Files.Source(src), target)
		return
	}
	t.add(step.Link, []string{target, dst}, t.s.Owner("")[:2]...)
}
