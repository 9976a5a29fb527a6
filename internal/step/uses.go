package step

import "path"

// NamedFile is a path in the arguments of a step.
type NamedFile struct{ Path, Why string }

// NamedFiles returns the files that a command or a link names. Steps that create them are earlier in a list. The result
// also contains the other words of a command.
func (s Step) NamedFiles() (out []NamedFile) {
	switch s.Verb {
	case Exec:
		out = append(out, NamedFile{s.Get("cwd"), "its working directory"})
		for _, w := range s.Args[1:] {
			out = append(out, NamedFile{w, "a file in its command"})
		}
	case Link:
		target := s.Args[0]
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(s.Args[1]), target)
		}
		out = append(out, NamedFile{target, "the target of the link"})
	}
	return out
}
