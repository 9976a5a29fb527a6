package hosts

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Deb describes a package for a local repository. The zero value of every field
// but Name and Version is a usable default.
type Deb struct {
	Name    string
	Version string
	Arch    string // default: all
	Depends string // as in a control file: "base, other (>= 2)"
	// Fields holds further control fields: Conflicts, Provides, Essential, …
	Fields map[string]string

	// Files maps absolute paths to contents. Files in a bin or sbin directory are
	// executable. All belong to root.
	Files     map[string]string
	Conffiles []string // the files that are configuration files

	// Unit is the text of the service Name.service. A package with a unit gets maintainer scripts that
	// enable, start, restart, stop and purge it, like packages of Debian. They run before the given
	// scripts.
	Unit string

	Preinst, Postinst, Prerm, Postrm string // lines of shell, without "#!"

	// Control holds further control files: triggers, templates, and config,
	// which is lines of shell.
	Control map[string]string
}

func (d Deb) arch() string     { return cmp.Or(d.Arch, "all") }
func (d Deb) fileName() string { return fmt.Sprintf("%s_%s_%s.deb", d.Name, d.Version, d.arch()) }

// Build returns the package as a .deb file. The same Deb gives the same bytes.
func (d Deb) Build() ([]byte, error) {
	if d.Name == "" || d.Version == "" {
		return nil, fmt.Errorf("cannot build a package without name and version")
	}
	files := map[string]string{}
	maps.Copy(files, d.Files)
	if d.Unit != "" {
		files["/lib/systemd/system/"+d.Name+".service"] = d.Unit
	}
	for _, path := range d.Conffiles {
		if _, ok := files[path]; !ok {
			return nil, fmt.Errorf("cannot build %s: conffile %s is not among its files", d.Name, path)
		}
	}
	control, err := tarball(d.control(), func(name string) fs.FileMode {
		if strings.HasSuffix(name, "inst") || strings.HasSuffix(name, "rm") || name == "config" {
			return 0o755
		}
		return 0o644
	})
	if err != nil {
		return nil, fmt.Errorf("cannot build %s: %w", d.Name, err)
	}
	data, err := tarball(files, func(name string) fs.FileMode {
		if dir := path.Base(path.Dir(name)); dir == "bin" || dir == "sbin" {
			return 0o755
		}
		return 0o644
	})
	if err != nil {
		return nil, fmt.Errorf("cannot build %s: %w", d.Name, err)
	}
	return archive(member{"debian-binary", []byte("2.0\n")}, member{"control.tar", control}, member{"data.tar", data}), nil
}

// control returns the control files of the package.
func (d Deb) control() map[string]string {
	var b strings.Builder
	fmt.Fprintf(&b, "Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: Test <test@example.org>\n", d.Name,
		d.Version, d.arch())
	fmt.Fprintf(&b, "Priority: optional\nSection: misc\n")
	if d.Depends != "" {
		fmt.Fprintf(&b, "Depends: %s\n", d.Depends)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
		fmt.Fprintf(&b, "%s: %s\n", name, d.Fields[name])
	}
	fmt.Fprintf(&b, "Description: package %s for tests\n", d.Name)
	files := map[string]string{"control": b.String()}
	if len(d.Conffiles) > 0 {
		files["conffiles"] = strings.Join(d.Conffiles, "\n") + "\n"
	}
	maps.Copy(files, d.Control)
	for name, text := range d.scripts() {
		if text != "" {
			files[name] = "#!/bin/sh\nset -e\n" + text + "\n"
		}
	}
	return files
}

// scripts returns the maintainer scripts. The scripts of a unit are like the output of
// dh_installsystemd.
func (d Deb) scripts() map[string]string {
	scripts := map[string]string{"preinst": d.Preinst, "postinst": d.Postinst, "prerm": d.Prerm, "postrm": d.Postrm,
		"config": d.Control["config"]}
	if d.Unit == "" {
		return scripts
	}
	unit := d.Name + ".service"
	for name, text := range map[string]string{"postinst": unitPostinst, "prerm": unitPrerm, "postrm": unitPostrm} {
		scripts[name] = strings.TrimSpace(strings.ReplaceAll(text, "UNIT", unit) + scripts[name])
	}
	return scripts
}

const unitPostinst = `if [ "$1" = configure ]; then
	deb-systemd-helper unmask UNIT >/dev/null || true
	if deb-systemd-helper --quiet was-enabled UNIT; then
		deb-systemd-helper enable UNIT >/dev/null || true
	else
		deb-systemd-helper update-state UNIT >/dev/null || true
	fi
	if [ -d /run/systemd/system ]; then
		systemctl --system daemon-reload >/dev/null || true
		action=start
		if [ -n "$2" ]; then action=restart; fi
		deb-systemd-invoke $action UNIT >/dev/null || true
	fi
fi
`

const unitPrerm = `if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	deb-systemd-invoke stop UNIT >/dev/null || true
fi
`

const unitPostrm = `if [ "$1" = purge ] && [ -x /usr/bin/deb-systemd-helper ]; then
	deb-systemd-helper purge UNIT >/dev/null || true
	deb-systemd-helper unmask UNIT >/dev/null || true
fi
if [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || true
fi
`

// tarball packs files, whose names may begin with a slash, and the directories that
// lead to them.
func tarball(files map[string]string, mode func(name string) fs.FileMode) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	made := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, dir := range directories(name) {
			if made[dir] {
				continue
			}
			made[dir] = true
			if err := w.WriteHeader(entry(tar.TypeDir, dir, 0o755, 0)); err != nil {
				return nil, err
			}
		}
		text := files[name]
		if err := w.WriteHeader(entry(tar.TypeReg, "."+path.Clean("/"+name), mode(name), len(text))); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(text)); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buf.Bytes(), err
}

// entry is the header of a file or directory of root's, of a fixed date.
func entry(kind byte, name string, mode fs.FileMode, size int) *tar.Header {
	return &tar.Header{
		Typeflag: kind, Name: name, Mode: int64(mode), Size: int64(size), Uname: "root", Gname: "root",
		ModTime: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), Format: tar.FormatGNU,
	}
}

// directories returns the directories above name from the top, as tar writes them.
func directories(name string) []string {
	var dirs []string
	for dir := path.Dir(path.Clean("/" + name)); dir != "/"; dir = path.Dir(dir) {
		dirs = append(dirs, "."+dir+"/")
	}
	slices.Reverse(dirs)
	return append([]string{"./"}, dirs...)
}

// member is one file of an ar archive.
type member struct {
	name string
	data []byte
}

// archive writes the members in ar's common format.
func archive(members ...member) []byte {
	var buf bytes.Buffer
	buf.WriteString("!<arch>\n")
	for _, m := range members {
		fmt.Fprintf(&buf, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", m.name, 0, 0, 0, 0o100644, len(m.data))
		buf.Write(m.data)
		if len(m.data)%2 == 1 {
			buf.WriteByte('\n')
		}
	}
	return buf.Bytes()
}
