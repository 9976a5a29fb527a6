package step

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
)

// The limits of includes. Files that include each other twice would grow without end long before a
// list has too many steps.
const (
	MaxIncludeDepth = 16
	MaxIncludes     = 10_000
)

// Resolve replaces every INCLUDE by the steps of its file. It replaces every COPY source that is a
// path by the digest of its content, so that an edited file changes its step. Paths are relative to
// the directory of the file that contains them. None leads out of src, the directory of the top
// list.
//
// Written and Range still describe the original line, and Trace has the INCLUDE lines of a step.
// Diagnostics in included files have the same trace. A resolved list is returned unchanged.
func Resolve(list List, src Source) (List, diag.List) {
	r := resolver{src: src, digests: map[string]answer{}}
	top := ""
	if len(list) > 0 {
		top = list[0].Range.File
	}
	r.directory = path.Dir(top)
	if top != "" {
		r.files = []string{path.Base(top)}
	}
	r.steps(list, ".")
	return r.out, r.diags
}

// answer is the result of Source for a path.
type answer struct {
	digest string
	err    error
}

// resolver walks a list and, into their depth, the files that it includes.
type resolver struct {
	src       Source
	directory string // of the top list, as the user knows it
	out       List
	diags     diag.List
	digests   map[string]answer

	files    []string     // the files that are open, the top list first
	trace    []diag.Range // the INCLUDE lines that lead here, innermost first
	includes int
	full     bool // a limit was exceeded and reported
}

// steps adds the steps of one file in the directory dir.
func (r *resolver) steps(list List, dir string) {
	for _, s := range list {
		if r.full {
			return
		}
		if s.Trace == nil {
			s.Trace = r.trace
		}
		switch {
		case s.Verb == Include && len(s.Args) > 0:
			r.include(s, dir)
			continue
		case s.Verb == Copy && len(s.Args) == 2 && !IsDigest(s.Args[0]):
			s = r.content(s, dir)
		}
		r.out = append(r.out, s)
		if len(r.out) > MaxSteps {
			r.full = true
			r.fault(s, wholeLine, "Too many steps",
				"The list and its includes have more than %d steps. Split the configuration of the target.", MaxSteps)
		}
	}
}

// fault reports an error in the step's line, at its i-th subject.
func (r *resolver) fault(s Step, i int, summary, detail string, args ...any) {
	r.diags = append(r.diags, s.diagnostic(diag.Error, s.subjectRange(i), summary, fmt.Sprintf(detail, args...)))
}

// locate converts a path in a file of the directory dir to one relative to the top directory. ok is
// false if that is outside, which it has reported.
func (r *resolver) locate(s Step, dir string) (rel string, ok bool) {
	p := s.Args[0]
	switch {
	case path.IsAbs(p):
		r.fault(s, 0, "Path leaves the directory",
			"%q is absolute. Sources and includes must be in the directory of the list or below, with paths relative to the file that contains them.", clip(
				p))
		return "", false
	case strings.Contains(p, "\\"):
		r.fault(s, 0, "Invalid path", "%q contains a backslash. Separate directories with a slash.", clip(p))
		return "", false
	}
	rel = path.Join(dir, p)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		r.fault(s, 0, "Path leaves the directory",
			"%q is outside of the directory of the top list. Move the file below this directory.", clip(p))
		return "", false
	}
	if !fs.ValidPath(rel) || rel == "." {
		r.fault(s, 0, "Invalid path", "%q is not a file.", clip(p))
		return "", false
	}
	return rel, true
}

// content returns the step with a digest instead of its path.
func (r *resolver) content(s Step, dir string) Step {
	rel, ok := r.locate(s, dir)
	if !ok {
		return s
	}
	a, known := r.digests[rel]
	if !known {
		a.digest, _, a.err = r.src.Digest(rel)
		if a.err == nil && !IsDigest(a.digest) {
			a.err = fmt.Errorf("its digest %q is not sha256: and 64 hex digits", clip(a.digest))
		}
		r.digests[rel] = a
	}
	if a.err != nil {
		r.fault(s, 0, "Cannot read the source", "%s. The path of the source is %s, relative to %s.", reason(a.err), rel,
			r.directoryName())
		return s
	}
	if s.Written == "" {
		s.Written = s.String()
	}
	s.Args = []string{a.digest, s.Args[1]}
	return s
}

// reason returns why a file cannot be read, without the path that the message already contains.
func reason(err error) string {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "There is no such file"
	case errors.As(err, &pe):
		return upperFirst(pe.Err.Error())
	}
	return upperFirst(err.Error())
}

func (r *resolver) directoryName() string {
	if r.directory == "." {
		return "the list's directory"
	}
	return r.directory
}

// include adds the steps of the file that an INCLUDE line names.
func (r *resolver) include(s Step, dir string) {
	rel, ok := r.locate(s, dir)
	if !ok || !r.mayInclude(s, rel) {
		return
	}
	text, err := r.src.ReadFile(rel)
	if err != nil {
		r.fault(s, 0, "Cannot read the include", "%s. The path of the file is %s, relative to %s.", reason(err), rel,
			r.directoryName())
		return
	}
	list, diags := Parse(path.Join(r.directory, rel), text)
	files, trace := r.files, r.trace
	r.files = append(slices.Clone(files), rel)
	r.trace = append([]diag.Range{s.Range}, trace...)
	for _, d := range diags {
		d.Trace = r.trace
		r.diags = append(r.diags, d)
	}
	r.steps(list, path.Dir(rel))
	r.files, r.trace = files, trace
}

// mayInclude refuses cycles, and includes that are too deep or too many.
func (r *resolver) mayInclude(s Step, rel string) bool {
	r.includes++
	at := slices.Index(r.files, rel)
	switch {
	case at >= 0:
		r.fault(s, 0, "Include cycle", "The file includes itself: %s. Remove one of these lines.",
			strings.Join(append(slices.Clone(r.files[at:]), rel), " -> "))
	case len(r.files) >= MaxIncludeDepth:
		r.fault(s, 0, "Includes too deep", "Files include each other %d deep: %s. At most %d are allowed.", len(r.files),
			strings.Join(r.files, " -> "), MaxIncludeDepth)
	case r.includes > MaxIncludes:
		r.full = true
		r.fault(s, 0, "Too many includes",
			"There are more than %d includes, some of the same file. Include each file once.", MaxIncludes)
	default:
		return true
	}
	return false
}
