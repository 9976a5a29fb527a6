// Package kinds lists every kind that is written in Go. To add one, add its
// directory and one line here.
//
//	for _, k := range kinds.All() { fmt.Println(k.Name, k.Doc) }
package kinds

import (
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/check"
	"fettle.dev/fettle/internal/kind/directory"
	"fettle.dev/fettle/internal/kind/exec"
	"fettle.dev/fettle/internal/kind/file"
	"fettle.dev/fettle/internal/kind/fileblock"
	"fettle.dev/fettle/internal/kind/filekey"
	"fettle.dev/fettle/internal/kind/fileline"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/kind/group"
	"fettle.dev/fettle/internal/kind/link"
	"fettle.dev/fettle/internal/kind/membership"
	"fettle.dev/fettle/internal/kind/metadata"
	"fettle.dev/fettle/internal/kind/pkg"
	"fettle.dev/fettle/internal/kind/service"
	"fettle.dev/fettle/internal/kind/sysctl"
	"fettle.dev/fettle/internal/kind/user"
)

// All gives every kind, in the order in which they are documented. The slice
// is fresh at each call.
func All() []kind.Kind {
	all := []kind.Kind{
		file.Kind(),
		directory.Kind(),
		link.Kind(),
		pkg.Kind(),
		exec.Kind(),
		user.Kind(),
		group.Kind(),
		membership.Kind(),
		fileline.Kind(),
		fileblock.Kind(),
		sysctl.Kind(),
		metadata.Kind(),
		generator.Kind(),
	}
	all = append(all, filekey.Kinds()...)
	all = append(all, check.Kinds()...)
	return append(all, service.Kinds()...)
}
