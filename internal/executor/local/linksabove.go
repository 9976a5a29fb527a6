package local

import (
	"iter"
	"path"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// maxLinksAbove is the number of links that are followed in one path, as in Linux (path_resolution(7)).
const maxLinksAbove = 40

// linksAbove yields each symbolic link through which the path of a file leads, with the directory that
// contains the link. The file itself can be a link, too, which is not yielded. It ends at the first
// directory that does not exist or cannot be read.
func (x *planner) linksAbove(file string) iter.Seq2[string, string] {
	return func(yield func(link, dir string) bool) { yieldLinks(x.host, file, yield) }
}

func yieldLinks(h host.Reader, file string, yield func(link, dir string) bool) {
	dir, rest := "/", strings.Split(strings.Trim(path.Clean(file), "/"), "/")
	for links := 0; len(rest) > 1 && links < maxLinksAbove; {
		p := path.Join(dir, rest[0])
		rest = rest[1:]
		st, err := h.Lstat(p)
		if err != nil {
			return
		}
		if st.Type != image.Symlink {
			dir = p
			continue
		}
		to, err := h.Readlink(p)
		if err != nil || !yield(p, dir) {
			return
		}
		if path.IsAbs(to) {
			dir = "/"
		}
		links++
		rest = append(strings.Split(strings.Trim(to, "/"), "/"), rest...)
	}
}
