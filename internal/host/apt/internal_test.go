package apt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
)

func sample() inventory {
	return parseInventory([]byte("dpkg\tamd64\tii \t1.21\nlibc6\tamd64\tii \t2.36\nlibc6\ti386\tii \t2.36\n" +
		"tzdata\tall\thi \t2026a\nold\tall\trc \t1\nbad\tamd64\tiHR\t3\nhalf\tamd64\tiF \t4\ncut\n"))
}

func TestParseInventory(t *testing.T) {
	inv := sample()
	tests := []struct {
		name, version, status string
		held, broken          bool
	}{
		{"libc6", "2.36", "ii", false, false}, {"libc6:i386", "2.36", "ii", false, false},
		{"libc6:amd64", "2.36", "ii", false, false},
		{"tzdata", "2026a", "hi", true, false}, {"old", "", "rc", false, false}, {"bad", "", "iH", false, true},
		{"half", "4", "iF", false, false},
		{"cut", "", "", false, false},
	}
	for _, tc := range tests {
		got := inv.packages[inv.key(tc.name)]
		if got.Version != tc.version || got.Status != tc.status || got.Held != tc.held || got.broken != tc.broken {
			t.Errorf("%s is %+v, want %+v", tc.name, got, tc)
		}
	}
	if got := fmt.Sprint(halfDone(inv)); got != "[bad must be installed again half is half configured]" {
		t.Errorf("half done: %s", got)
	}
}

func TestParseAuto(t *testing.T) {
	text := "Package: libc6\nArchitecture: amd64\nAuto-Installed: 1\n\n" +
		"Package: libc6\nArchitecture: i386\nAuto-Installed: 1\n\n" +
		"Package: tzdata\nArchitecture: amd64\nAuto-Installed: 1\n\nPackage: half\nArchitecture: amd64\nAuto-Installed: 0\n"
	got := slices.Sorted(maps.Keys(parseAuto([]byte(text), sample())))
	if fmt.Sprint(got) != "[libc6 libc6:i386 tzdata]" {
		t.Errorf("automatic: %v", got)
	}
}

func TestSimulated(t *testing.T) {
	out := "NOTE: This is only a simulation!\nInst libc6 [2.36] (2.37 Debian:12 [amd64])\n" +
		"Inst new (1 repo [all]) []\nRemv tzdata [2026a]\nConf new (1 repo [all])\nPurg asked [1]\n"
	got := simulated(sample(), []byte(out), []host.PackageChange{{Name: "asked", Absent: true}})
	if want := map[string]string{"libc6": "2.36", "new": "", "tzdata": "2026a"}; !maps.Equal(got, want) {
		t.Errorf("simulated %v, want %v", got, want)
	}
}

func TestNames(t *testing.T) {
	if got := fmt.Sprint(debNames("amd64", "a", "1:2"),
		debNames("amd64", "a:i386", "3")); got != "[a_1%3a2_amd64.deb a_1%3a2_all.deb] [a_3_i386.deb]" {
		t.Errorf("file names %s", got)
	}
	for name, want := range map[string]bool{"g++": true, "libc6:i386": true, "a": false, "-y": false, "A1": false,
		"a b": false, "": false, "../x": false} {
		if validName(name) != want {
			t.Errorf("validName(%q) is %v", name, !want)
		}
	}
}

func TestKeptConffiles(t *testing.T) {
	const edited, deleted = " ==> Modified (by you or by a script) since installation.\n",
		" ==> Deleted (by you or by a script) since installation.\n"
	const shipped, old = " ==> Package distributor has shipped an updated version.\n",
		" ==> Using current old file as you requested.\n"
	out := "Setting up a (2) ...\n\nConfiguration file '/etc/a'\n" + edited + shipped + old +
		"Configuration file '/etc/b'\n" + deleted + shipped + " ==> Keeping old config file as default.\n" +
		"Configuration file '/etc/c'\n" + edited + shipped +
		" ==> Using new file as you requested.\nInstalling new version of config file /etc/d ...\n"
	want := "[/etc/a stays as it was edited here; the version of the package is in /etc/a.dpkg-dist " +
		"/etc/b stays deleted; the version of the package is in /etc/b.dpkg-dist]"
	if got := fmt.Sprint(keptConffiles([]byte(out))); got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

func TestReadFailure(t *testing.T) {
	stdout := "Setting up fine (1) ...\nhello\nSetting up picky (1.0) ...\n" +
		"picky wants more\nErrors were encountered while processing:\n picky\n"
	stderr := "dpkg: error processing package picky (--configure):\n" +
		" installed picky package post-installation script subprocess returned error exit status 7\n" +
		"E: Sub-process /usr/bin/dpkg returned an error code (1)\n"
	f := readFailure(stdout, stderr)
	if len(f.scripts) != 1 || f.scripts[0].pkg != "picky" || fmt.Sprint(f.scripts[0].output) != "[picky wants more]" ||
		len(f.errors) != 1 {
		t.Errorf("failure %+v", f)
	}
}

// TestReasonsOfAPT3: APT 3 explains an error on the indented lines after it. Other indented lines
// do not count, and a long explanation is cut.
func TestReasonsOfAPT3(t *testing.T) {
	stderr := "W: something\n   not a reason\nE: Unable to correct problems, you have held broken packages.\n" +
		"E: The following information from --solver 3.0 may provide additional context:\n" +
		"   Unable to satisfy dependencies. Reached two conflicting decisions:\n" +
		"   1. cron:amd64 is not selected for install because:\n      1. bcron:amd64=0.11-23 is selected for install\n"
	want := "\n    Unable to satisfy dependencies. Reached two conflicting decisions:" +
		"\n    1. cron:amd64 is not selected for install because:\n       1. bcron:amd64=0.11-23 is selected for install\n"
	f := readFailure("", stderr)
	if got := f.because(); got != want || len(f.errors) != 2 {
		t.Errorf("errors %q, reasons %q", f.errors, got)
	}
	if got := readFailure("", "E: Unable to locate package a\n").because(); got != "" {
		t.Errorf("an error without reasons has %q", got)
	}
	long := readFailure("", "E: x\n"+strings.Repeat("   line\n", 20)).because()
	if strings.Count(long, "line\n") != reasonLines || !strings.Contains(long, "… and 8 more lines") {
		t.Errorf("20 lines are shown as %q", long)
	}
}

// TestBlamed: the packages that apt and dpkg name as the cause.
func TestBlamed(t *testing.T) {
	inv := inventory{arch: "amd64"}
	for _, c := range []struct{ stdout, stderr, want string }{
		{"", "dpkg: error processing package picky:amd64 (--configure):\n it failed\n" +
			"E: Sub-process /usr/bin/dpkg returned an error code (1)\n",
			"[picky]"},
		{"", "dpkg: error processing archive /var/cache/apt/archives/a_1_all.deb (--unpack):\n trying to overwrite\n", "[a]"},
		{"", "E: Unable to locate package modi\n", "[modi]"},
		{"", "E: Version ‘3.0’ for ‘moody’ was not found\n", "[moody]"},
		{"", "E: Version '3.0' for 'moody' was not found\n", "[moody]"},
		{"", "E: Package 'ghost' has no installation candidate\n", "[ghost]"},
		{"", "E: The package torn needs to be reinstalled, but I can't find an archive for it.\n", "[torn]"},
		{"", "E: Failed to fetch http://h/pool/remote_1%3a2_all.deb  404  Not Found\n", "[remote]"},
		{"", "E: Failed to fetch http://h/dists/x/Release  404  Not Found\n", "[]"},
		{"The following packages have unmet dependencies:\n beta : Depends: alpha (= 2.0) but 1.0 is to be installed\n" +
			"        Depends: other but it is not\nE: x\n", "E: Unable to correct problems, you have held broken packages.\n",
			"[beta]"},
		{"", "E: Could not get lock /var/lib/dpkg/lock\n", "[]"},
	} {
		if got := fmt.Sprint(readFailure(c.stdout, c.stderr).names(inv)); got != c.want {
			t.Errorf("%q%q blames %s, want %s", c.stdout, c.stderr, got, c.want)
		}
	}
}

func TestReverseDepends(t *testing.T) {
	out := "lib\nReverse Depends:\n  rec\n |lib2\n  lib2\n  rec\nalone\nReverse Depends:\n"
	got := fmt.Sprint(reverseDepends(out))
	if got != "map[lib:[lib2 rec]]" {
		t.Errorf("reverse dependencies %s", got)
	}
}

func TestComeAndLeave(t *testing.T) {
	out := "Inst libc6 [2.36] (2.37 Debian:12 [amd64])\nRemv tzdata [2026a]\n" +
		"Remv libc6:i386 [2.36]\nPurg asked [1]\nConf libc6 (2.37)\nRemv marked [1]\n"
	comes, leaves := comeAndLeave(sample(), []byte(out),
		[]host.PackageChange{{Name: "asked", Absent: true}, {Name: "marked", Version: "1"}})
	if fmt.Sprint(comes, leaves) != "[libc6] [libc6:i386 marked tzdata]" {
		t.Errorf("%v come and %v leave", comes, leaves)
	}
}

func TestParsePolicies(t *testing.T) {
	out := "nginx:\n  Installed: (none)\n  Candidate: 1.22-2\n  Version table:\n     1.22-2 500\n" +
		"        500 http://deb.debian.org/debian bookworm/main amd64 Packages\n *** 1.22-1 100\n        100 /var/lib/dpkg/status\n" +
		"awk:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n"
	all := parsePolicies(out)
	for name, c := range map[string]struct {
		change  host.PackageChange
		version string
		unknown string
	}{
		"candidate":         {host.PackageChange{Name: "nginx"}, "1.22-2", ""},
		"installed version": {host.PackageChange{Name: "nginx", Version: "1.22-1"}, "1.22-1", ""},
		"no such version": {host.PackageChange{Name: "nginx", Version: "9"}, "9",
			`apt knows no version 9 of package "nginx"`},
		"no package": {host.PackageChange{Name: "ngnix"}, "", `apt knows no package "ngnix"`},
		"virtual":    {host.PackageChange{Name: "awk"}, "", `apt knows no package "awk"`},
	} {
		if got := all[c.change.Name].offer(c.change); got.Version != c.version || got.Unknown != c.unknown {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestDownloadSize(t *testing.T) {
	out := "'http://x/a_1_all.deb' a_1_all.deb 115544 SHA256:0\n" +
		"'http://x/b_1_all.deb' b_1_all.deb 532468 \nWarning: none\n"
	if got := downloadSize(out); got != 648012 {
		t.Errorf("%d bytes", got)
	}
}
func TestKnownVersions(t *testing.T) {
	for want, versions := range map[string][]string{
		"If the version is new":                     nil,
		"apt knows 1. If":                           {"1"},
		"apt knows 2 and 1. If":                     {"2", "1"},
		"apt knows 5, 4, 3, 2 and 1. If":            {"5", "4", "3", "2", "1"},
		"apt knows 7, 6, 5, 4, 3 and 2 older ones.": {"7", "6", "5", "4", "3", "2", "1"},
	} {
		if got := knownVersions(versions); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q, want %q", versions, got, want)
		}
	}
}
