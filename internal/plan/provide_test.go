package plan

import (
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
)

func packageIs(version, status string) *image.Image {
	return new(image.Of(&image.Package{Version: version, Status: status}))
}

// TestProvides: how likely a change provides what a later step needs.
func TestProvides(t *testing.T) {
	const run, file, unit = "exec:x", addr.Addr("file:/opt/app/run"), addr.Addr("unit:web@1.service")
	part := func(p, line string) Change {
		return Change{Action: Update, Addr: addr.Addr("edit:" + p + "#line:x"), Step: parse(line)}
	}
	tool := addr.New(addr.KindProgram, "tool")
	tree := new(image.Of(&image.File{Type: image.Directory, Tree: "sha256:t"}))
	link := pathOf(image.Symlink)
	command := func(line string) Change { return Change{Action: Run, Addr: run, Step: parse("EXEC x " + line)} }
	path := func(p string, to *image.Image) Change {
		return Change{Action: Update, Addr: addr.File(p), Applied: parse("RM " + p), To: to}
	}
	action := func(a, line string) Change { return Change{Action: Run, Addr: addr.Addr(a), Step: parse(line)} }
	user := func(line string) Change {
		return Change{Action: Create, Addr: "user:bob", Step: parse("USER bob " + line)}
	}
	pkg := func(name string, from, to *image.Image) Change {
		return Change{Action: Update, Addr: addr.New(addr.KindPkg, name), Step: parse("PKG " + name), From: from, To: to}
	}
	fresh, old := packageIs("", ""), packageIs("1", "ii")
	for what, c := range map[string]struct {
		change Change
		need   addr.Addr
		want   int
	}{
		"nothing changes":           {Change{Action: Adopt, Addr: file, Step: parse("COPY x /opt/app/run")}, file, never},
		"a purge":                   {Change{Action: Purge, Addr: file}, file, never},
		"a removal":                 {Change{Action: Remove, Addr: file, To: pathOf(image.Absent)}, file, never},
		"a removal, unknown later":  {Change{Action: Remove, Addr: file}, file, never},
		"a restored origin":         {Change{Action: Remove, Addr: file, To: pathOf(image.Regular)}, file, exactly},
		"a step that removes":       {Change{Action: Update, Addr: file, Step: parse("RM /opt/app/run")}, file, never},
		"a rollback that removes":   {Change{Action: Restore, Addr: file, To: pathOf(image.Absent)}, file, never},
		"a rollback without a step": {path("/opt/app/run", pathOf(image.Regular)), file, exactly},
		"an unknown image":          {path("/opt/app/run", &image.Image{}), file, exactly},
		"a group":                   {Change{Action: Create, Addr: "group:g", Step: parse("GROUP g")}, "group:g", exactly},
		"another group":             {Change{Action: Create, Addr: "group:g", Step: parse("GROUP g")}, "group:h", never},
		"a member": {Change{Action: Create, Addr: "member:a/g", Step: parse("MEMBER a g")}, "group:g",
			never},
		"a package, unknown":          {pkg("web", nil, nil), tool, possibly},
		"a package, unknown before":   {pkg("web", nil, fresh), tool, never},
		"a package, unknown later":    {pkg("web", old, nil), tool, possibly},
		"a package from a file":       {pkg("web", pathOf(image.Regular), old), tool, possibly},
		"a package that is a file":    {pkg("web", old, pathOf(image.Regular)), tool, possibly},
		"a new package":               {pkg("web", fresh, old), tool, possibly},
		"a package of its name":       {pkg("tool", fresh, old), tool, likely},
		"a longer package":            {pkg("tools-extra", fresh, old), tool, likely},
		"a shorter package":           {pkg("too", fresh, old), tool, likely},
		"a similar package":           {pkg("toad", fresh, old), tool, likely},
		"a package, no name needed":   {pkg("web", fresh, old), addr.New(addr.KindUnit, "@1.service"), possibly},
		"another version":             {pkg("web", old, packageIs("2", "ii")), tool, maybe},
		"the same version":            {pkg("web", old, packageIs("1", "hi")), tool, never},
		"an unfinished package":       {pkg("web", packageIs("1", "iF"), packageIs("1", "ii")), tool, maybe},
		"a command that creates":      {command("/bin/true creates=/opt/app/run"), file, exactly},
		"a command that creates more": {command("/bin/make creates=/opt/app"), file, maybe},
		"a command with the name":     {command("/bin/make --with=tool"), tool, likely},
		"a command":                   {command("/bin/make"), tool, maybe},
		"echo":                        {command("echo tool"), tool, never},
		"an update of the lists":      {command("apt-get update"), tool, never},
		"apt without an update":       {command("apt-get clean"), tool, maybe},
		"an upgrade":                  {command("apt full-upgrade"), tool, maybe},
		"an update and an upgrade":    {command("apt-get update dist-upgrade"), tool, maybe},
		"an update and a package":     {command("apt-get update install x"), tool, maybe},
		"an action that runs":         {action("act:run/a", "ACT run a /bin/tool on=file:/x"), tool, likely},
		"an action that runs echo":    {action("act:run/tool", "ACT run tool echo on=file:/x"), tool, never},
		"an action that starts":       {action("act:start/a.service", "ACT start a.service on=file:/x"), file, maybe},
		"a start and a program":       {action("act:start/a.service", "ACT start a.service on=file:/x"), tool, never},
		"a start and a setting": {action("act:start/a.service", "ACT start a.service on=file:/x"), "sysctl:net.x",
			maybe},
		"a unit that starts": {Change{Action: Update, Addr: "unit:a.service", Step: parse("UNIT a.service active=true")},
			file, maybe},
		"a unit that is enabled": {Change{Action: Update, Addr: "unit:a.service", Step: parse("UNIT a.service enabled=true")},
			file, never},
		"a user":                  {user(""), "user:bob", exactly},
		"another user":            {user(""), "user:ann", never},
		"the group of a user":     {user(""), "group:bob", exactly},
		"no group of a user":      {user("group=www"), "group:bob", never},
		"a home":                  {user("create_home=true"), "file:/home/bob/x", exactly},
		"a home elsewhere":        {user("home=/srv/bob create_home=true"), "file:/srv/bob", exactly},
		"not the usual home":      {user("home=/srv/bob create_home=true"), "file:/home/bob", never},
		"no home":                 {user(""), "file:/home/bob/x", never},
		"beside a home":           {user("create_home=true"), "file:/home/bobby", never},
		"a unit and a home":       {user("home=/a create_home=true"), "unit:/a/x", never},
		"a path in the path":      {path("/opt/app/run/x", pathOf(image.Regular)), file, exactly},
		"a path beside it":        {path("/opt/app/runs", pathOf(image.Regular)), file, never},
		"a directory above":       {path("/opt", pathOf(image.Directory)), file, never},
		"a tree above":            {path("/opt", tree), file, exactly},
		"a tree elsewhere":        {path("/srv", tree), file, never},
		"a link above":            {path("/opt", link), file, exactly},
		"a link of a step":        {Change{Action: Create, Addr: "file:/opt", Step: parse("LINK /srv /opt")}, file, exactly},
		"a part, unknown":         {part("/opt/app/run", "EDIT /opt/app/run line=x"), file, exactly},
		"a part of another file":  {part("/opt", "EDIT /opt line=x"), file, never},
		"a part that goes":        {part("/opt/app/run", "EDIT /opt/app/run line=x ensure=absent"), file, never},
		"a program":               {path("/usr/bin/tool", pathOf(image.Regular)), tool, exactly},
		"a program elsewhere":     {path("/srv/tool", pathOf(image.Regular)), tool, never},
		"another program":         {path("/usr/bin/too", pathOf(image.Regular)), tool, never},
		"a tree with programs":    {path("/usr", tree), tool, exactly},
		"a tree without programs": {path("/srv", tree), tool, never},
		"a directory of programs": {path("/usr", pathOf(image.Directory)), tool, never},
		"a unit file":             {path("/etc/systemd/system/web@1.service", pathOf(image.Regular)), unit, exactly},
		"a template":              {path("/etc/systemd/system/web@.service", pathOf(image.Regular)), unit, exactly},
		"a template elsewhere":    {path("/srv/web@.service", pathOf(image.Regular)), unit, never},
		"another type of unit":    {path("/etc/systemd/system/web@.timer", pathOf(image.Regular)), unit, never},
		"no template": {path("/etc/systemd/system/web@.service", pathOf(image.Regular)), "unit:web.service",
			never},
		"a generator":                {path("/etc/init.d/web", pathOf(image.Regular)), unit, exactly},
		"a device in fstab":          {path("/etc/fstab", pathOf(image.Regular)), "unit:srv.mount", exactly},
		"a tree with units":          {path("/etc/systemd", tree), unit, exactly},
		"a tree without units":       {path("/srv", tree), unit, never},
		"a directory of units":       {path("/etc/systemd", pathOf(image.Directory)), unit, never},
		"a tree and a user":          {path("/home", tree), "user:bob", never},
		"a user of a program's name": {path("/usr/bin/bob", pathOf(image.Regular)), "user:bob", never},
	} {
		if got := provides(c.change, c.need); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
}

// TestKnownToLack: the content of a kept tree is known, so the tree provides no other path. A link in it may.
func TestKnownToLack(t *testing.T) {
	kept := func(string) []TreeFile {
		return []TreeFile{{Rel: "a", File: image.File{Type: image.Regular}},
			{Rel: "l", File: image.File{Type: image.Symlink}}}
	}
	tree := Change{Addr: "file:/d", To: new(image.Of(&image.File{Type: image.Directory, Tree: "sha256:t"}))}
	for what, c := range map[string]struct {
		kept   func(string) []TreeFile
		change Change
		need   addr.Addr
		want   bool
	}{
		"in the tree":       {kept, tree, "file:/d/a", false},
		"not in the tree":   {kept, tree, "file:/d/b", true},
		"below a file":      {kept, tree, "file:/d/a/b", true},
		"below a link":      {kept, tree, "file:/d/l/b", false},
		"outside":           {kept, tree, "file:/e", false},
		"the tree itself":   {kept, tree, "file:/d", false},
		"another kind":      {kept, tree, "unit:/d/b", false},
		"content not known": {nil, tree, "file:/d/b", false},
		"unknown later":     {kept, Change{Addr: "file:/d"}, "file:/d/b", false},
		"a part":            {kept, Change{Addr: "file:/d", To: linkedRegion(1, "x")}, "file:/d/b", false},
		"a directory":       {kept, Change{Addr: "file:/d", To: pathOf(image.Directory)}, "file:/d/b", false},
	} {
		m := newMaker(Input{StoredTree: c.kept})
		if got := m.providers.knownToLack(c.change, c.need); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}
