package wanted_test

import (
	"fmt"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor/wanted"
	"fettle.dev/fettle/internal/repo"
)

func Example() {
	tree := repo.MapTree(
		map[string]string{"fettle.hcl": "target \"a\" {}\nfile \"/etc/motd\" { content = \"hello\\n\" }\n"})
	res, ds := compile.Compile(compile.Input{Tree: tree})
	req := wanted.Request(res, repo.Revision{Commit: "c0ffee"})
	fmt.Println(ds.Err(), req.Target, req.Revision.Commit, len(req.List), req.States[0].Source, req.States[0].Addrs)
	// Output: <nil> a c0ffee 1 fettle.hcl:2 [file:/etc/motd]
}
