package fact

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/image"
)

var update = flag.Bool("update", false, "rewrite docs/facts.md; look at the difference")

// fake is a host of a few files; a value that begins with "-> " is a link.
type fake struct {
	host.Host
	root  string
	files map[string]string
	fail  string
}

func (f fake) Root() string   { return f.root }
func (f fake) BootID() string { return "boot-1" }

func (f fake) Lstat(p string) (host.Stat, error) {
	text, ok := f.files[p]
	switch {
	case p == f.fail:
		return host.Stat{}, fs.ErrPermission
	case !ok && f.isDirectory(p):
		return host.Stat{Type: image.Directory}, nil
	case !ok:
		return host.Stat{}, fs.ErrNotExist
	case strings.HasPrefix(text, "-> "):
		return host.Stat{Type: image.Symlink}, nil
	}
	return host.Stat{Type: image.Regular}, nil
}

// isDirectory reports whether files are below p.
func (f fake) isDirectory(p string) bool {
	for name := range f.files {
		if strings.HasPrefix(name, p+"/") {
			return true
		}
	}
	return false
}

func (f fake) ReadDir(p string) ([]string, error) {
	if p == f.fail {
		return nil, fs.ErrPermission
	}
	var names []string
	for name := range f.files {
		if rest, ok := strings.CutPrefix(name, p+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			names = append(names, first)
		}
	}
	if names == nil {
		return nil, fs.ErrNotExist
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (f fake) Readlink(p string) (string, error) {
	target, ok := strings.CutPrefix(f.files[p], "-> ")
	if !ok {
		return "", fs.ErrNotExist
	}
	return target, nil
}

func (f fake) Open(p string) (host.File, error) {
	return fakeFile{Reader: strings.NewReader(f.files[p])}, nil
}

type fakeFile struct {
	host.File
	*strings.Reader
}

func (f fakeFile) Read(p []byte) (int, error)                { return f.Reader.Read(p) }
func (f fakeFile) ReadAt(p []byte, off int64) (int, error)   { return f.Reader.ReadAt(p, off) }
func (f fakeFile) Seek(off int64, whence int) (int64, error) { return f.Reader.Seek(off, whence) }
func (fakeFile) Close() error                                { return nil }

func elfHeader(class, data byte, machine uint16, flags uint32) string {
	b := make([]byte, 64)
	copy(b, "\x7fELF")
	b[4], b[5] = class, data
	order := binary.ByteOrder(binary.LittleEndian)
	if data == 2 {
		order = binary.BigEndian
	}
	order.PutUint16(b[18:], machine)
	order.PutUint32(b[36:], flags)
	return string(b)
}

func bookworm() map[string]string {
	return map[string]string{
		"/etc/os-release":     "-> ../usr/lib/os-release",
		"/usr/lib/os-release": "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nID=debian\n",
		"/usr/bin/dpkg":       elfHeader(2, 1, 62, 0),
		"/etc/hostname":       "web1\n", "/proc/sys/kernel/hostname": "web1\n",
		"/etc/hosts":                     "127.0.0.1 localhost\n127.0.1.1 web1.example.org web1 # me\n",
		"/proc/sys/kernel/osrelease":     "6.1.0-40-amd64\n",
		"/sys/devices/system/cpu/online": "0-3,6\n",
		"/proc/meminfo":                  "MemTotal:        2048 kB\nSwapTotal:          0 kB\n",
		"/proc/net/route":                "Iface\tDestination\tGateway\tFlags\nwlan0\t00000000\t010200C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\neth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\neth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
		"/proc/net/ipv6_route": strings.Repeat("0", 32) + " 00 " + strings.Repeat("0",
			32) + " 00 fe80" + strings.Repeat("0", 28) + " 00000400 00000001 00000000 00000003     eth0\n" +
			strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00 " + strings.Repeat("0",
			32) + " ffffffff 00000001 00000000 00200200       lo\n",
		"/etc/machine-id":                "0123456789abcdef0123456789abcdef\n",
		"/etc/localtime":                 "-> /usr/share/zoneinfo/Europe/Amsterdam",
		"/sys/class/dmi/id/sys_vendor":   "QEMU\n",
		"/sys/class/dmi/id/product_name": "Standard PC (Q35 + ICH9, 2009)\n",
		"/run/systemd/system":            "",
		"/proc/cpuinfo":                  "processor\t: 0\nflags\t\t: fpu hypervisor lahf\n",
	}
}

func fakeSource(root string, files map[string]string) *source {
	s := newSource(fake{root: root, files: files})
	s.interfaces = func() ([]iface, error) {
		return []iface{{"eth0", "52:54:00:00:00:01", []string{"192.0.2.7", "2001:db8::7"}}, {"wlan0", "", nil}}, nil
	}
	return s
}

func show(t *testing.T, s *source, names ...string) string {
	t.Helper()
	values, err := gather(context.Background(), s, names)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range All() {
		v, ok := values[f.Name]
		if !ok {
			continue
		}
		if !v.Type().Equals(f.Type) {
			t.Errorf("%s: %#v is no %s", f.Name, v, f.Type.FriendlyName())
		}
		fmt.Fprintf(&b, "%s = %#v\n", f.Name, v)
	}
	return b.String()
}

func TestGatherAll(t *testing.T) {
	got := strings.ReplaceAll(show(t, fakeSource("/", bookworm())), "cty.", "")
	want := `addresses = MapVal(map[string]Value{"eth0":ListVal([]Value{StringVal("192.0.2.7"), StringVal("2001:db8::7")})})
arch = StringVal("amd64")
arch_go = StringVal("amd64")
arch_kernel = StringVal("x86_64")
boot_id = StringVal("boot-1")
container = False
cpus = NumberIntVal(5)
default_interface = StringVal("eth0")
default_ipv4 = StringVal("192.0.2.7")
default_ipv6 = StringVal("2001:db8::7")
domain = StringVal("example.org")
fqdn = StringVal("web1.example.org")
guests = MapValEmpty(String)
hostname = StringVal("web1")
init = StringVal("systemd")
kernel = StringVal("6.1.0-40-amd64")
mac_addresses = MapVal(map[string]Value{"eth0":StringVal("52:54:00:00:00:01")})
machine_id = StringVal("MACHINE")
memory_bytes = NumberIntVal(2.097152e+06)
os_codename = StringVal("bookworm")
os_family = StringVal("debian")
os_id = StringVal("debian")
os_major = NumberIntVal(12)
os_name = StringVal("Debian GNU/Linux 12 (bookworm)")
os_version = StringVal("12")
product = StringVal("Standard PC (Q35 + ICH9, 2009)")
swap_bytes = NumberIntVal(0)
timezone = StringVal("Europe/Amsterdam")
vendor = StringVal("QEMU")
virtualization = StringVal("qemu")
`
	got = regexp.MustCompile(`machine_id = StringVal\("[0-9a-f]{32}"\)`).ReplaceAllString(got,
		`machine_id = StringVal("MACHINE")`)
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if strings.Contains(show(t, fakeSource("/", bookworm()), "machine_id"), "0123456789abcdef") {
		t.Error("the machine id itself is shown")
	}
}

func TestImagesHaveNothingThatRuns(t *testing.T) {
	values, err := gather(context.Background(), fakeSource("/mnt", bookworm()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range All() {
		if values[f.Name].IsNull() != f.Running {
			t.Errorf("%s = %#v", f.Name, values[f.Name])
		}
	}
}

func TestAnEmptyHostIsNulls(t *testing.T) {
	values, err := gather(context.Background(), fakeSource("/", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"os_id", "os_major", "arch", "cpus", "memory_bytes", "fqdn", "domain", "machine_id",
		"init", "default_ipv4", "kernel"} {
		if !values[name].IsNull() {
			t.Errorf("%s = %#v", name, values[name])
		}
	}
	if v := values["timezone"]; v.AsString() != "UTC" {
		t.Errorf("%#v", v)
	}
}

func TestOnlyWhatIsAskedForIsRead(t *testing.T) {
	h := fake{root: "/", files: bookworm(), fail: "/proc/meminfo"}
	if v, err := Gather(context.Background(), h, []string{"os_id"}); err != nil || len(v) != 1 {
		t.Error(v, err)
	}
	if v, err := Gather(context.Background(), h, []string{}); err != nil || len(v) != 0 {
		t.Error(v, err)
	}
	_, err := Gather(context.Background(), h, []string{"memory_bytes"})
	if err == nil || !strings.Contains(err.Error(), "cannot gather fact memory_bytes") {
		t.Error(err)
	}
	_, err = Gather(context.Background(), h, []string{"os_codenam"})
	if err == nil || !strings.Contains(err.Error(), `Did you mean "os_codename"?`) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Gather(ctx, h, nil); err == nil {
		t.Error("not cancelled")
	}
}

func TestHostileText(t *testing.T) {
	files := bookworm()
	files["/usr/lib/os-release"] = "ID=\"${var.x}\x1b[2J\"\nVERSION_CODENAME=" + strings.Repeat("é", 5000) + "\n"
	files["/etc/hostname"] = "-> /etc/loop"
	files["/etc/loop"] = "-> /etc/hostname"
	s := fakeSource("/mnt", files)
	if got := show(t, s, "os_id"); got != "os_id = cty.StringVal(\"${var.x}[2J\")\n" {
		t.Error(got)
	}
	if got := show(t, s, "os_codename"); len(got) > 300 {
		t.Error(len(got))
	}
	if _, err := gather(context.Background(), s, []string{"hostname"}); err == nil {
		t.Error("a loop of links has an end")
	}
}

func TestThisMachine(t *testing.T) {
	h, err := local.Open("/", local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	values, err := Gather(context.Background(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := values["arch_go"]; v.IsNull() || v.AsString() != runtime.GOARCH {
		t.Errorf("arch_go = %#v", v)
	}
	if n, _ := values["cpus"].AsBigFloat().Int64(); n < 1 {
		t.Errorf("cpus = %d", n)
	}
	name, _ := os.Hostname()
	if v := values["fqdn"]; v.IsNull() || !strings.HasPrefix(v.AsString(), name) {
		t.Errorf("fqdn = %#v, host %s", v, name)
	}
	again, err := Gather(context.Background(), h, nil)
	if err != nil || !cty.ObjectVal(values).RawEquals(cty.ObjectVal(again)) {
		t.Error("two looks differ", err)
	}
}

func TestTable(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	var names []string
	for _, f := range All() {
		names = append(names, f.Name)
		if !name.MatchString(f.Name) || !strings.HasSuffix(f.Doc, ".") && !strings.HasSuffix(f.Doc, "`.") &&
			!strings.HasSuffix(f.Doc, "…") {
			t.Errorf("%s: %s", f.Name, f.Doc)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(names)) != len(All()) {
		t.Error("not sorted or not unique", names)
	}
}

// docs/facts.md is written from the table: go test ./internal/fact -update.
func TestDocument(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "facts.md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != Markdown() {
		t.Errorf("docs/facts.md is not what the table says; run with -update (%v)", err)
	}
}

func ExampleFind() {
	_, err := Find("hostnam")
	fmt.Println(err)
	// Output: cannot find fact "hostnam": there is no such fact. Did you mean "hostname"?
}
