package e2e

import (
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// random is text that does not compress.
func random(size int) string {
	b := make([]byte, size)
	_, _ = rand.Read(b)
	return string(b)
}

// contentOnce: content that the host has does not travel, and what compresses travels
// compressed.
func contentOnce(d *desk, m *machine) {
	n := newLine(d.t, m)
	was := d.get(".ssh/config")
	d.goesOver(n, m)
	defer func() { d.hangUp(); d.put(".ssh/config", was, 0o600) }()
	d.targets("ssh {}", "")
	d.fettle(success, "plan", "-t", "web1")
	step := func(what, text string, least, most int64) {
		d.put("repo/fettle.hcl", "target \"web1\" {\n  ssh {}\n}\n"+text, 0o644)
		n.breaksAfter(0)
		d.fettle(success, "apply", "--yes", "-t", "web1")
		if got := n.sent.Load(); got < least || got > most {
			d.t.Errorf("%s: %d bytes went to the host, want %d to %d", what, got, least, most)
		}
	}
	const size = 4 << 20
	d.put("repo/big", random(size), 0o644)
	d.put("repo/same", d.get("repo/big"), 0o644)
	d.put("repo/text", strings.Repeat("all work and no play makes fettle a dull tool\n", size/46), 0o644)
	big := "file \"/etc/big\" { source = \"big\" }\n"
	step("content that does not compress", big, size, size*11/10)
	step("the same content in another place", big+"file \"/etc/story\" { source = \"same\" }\n", 0, 64<<10)
	step("text", big+"file \"/etc/hello\" { source = \"text\" }\n", 0, size/10)
	step("nothing new", big+"file \"/etc/hello\" { source = \"text\" }\n", 0, 64<<10)
}

// contentGoesOn: what came of content whose transfer was cut does not travel again,
// neither for an apply nor for a copy.
func contentGoesOn(d *desk, m *machine) {
	const size, slack = 64 << 20, 10 << 20 // what is in buffers when the line breaks is lost
	n := newLine(d.t, m)
	was := d.get(".ssh/config")
	d.goesOver(n, m)
	defer func() { d.hangUp(); d.put(".ssh/config", was, 0o600) }()
	d.targets("ssh {}", "")
	d.fettle(success, "plan", "-t", "web1")
	d.targets("ssh {}", "file \"/etc/big\" { source = \"big\" }\n")
	d.put("repo/big", random(size), 0o644)
	for _, args := range [][]string{{"apply", "--yes", "-t", "web1", "--max-file-size", "100MiB"},
		{"copy", "--max-file-size", "100MiB", "-t", "web1", "big", "/etc/hello"}} {
		n.breaksAfter(size / 2)
		d.fettle(failed, args...)
		m.awaitNobody()
		m.want("1", "sh", "-c", "ls /var/lib/fettle/objects/tmp-part-* | wc -l")
		n.breaksAfter(0)
		d.fettle(success, args...)
		sent := n.sent.Load()
		d.t.Logf("%s: %d KiB travel the second time", args[0], sent>>10)
		if sent > size/2+slack {
			d.t.Errorf("%s: %d bytes travel the second time", args[0], sent)
		}
		m.want("0", "sh", "-c", "ls /var/lib/fettle/objects | grep -c tmp- || true")
		d.hangUp()
	}
	sum, _, _ := strings.Cut(d.must("sha256sum", "big"), " ")
	m.want(sum+" 2", "sh", "-c", "sha256sum /etc/big /etc/hello | cut -d' ' -f1 | uniq -c | awk '{print $2, $1}'")
}

// gigabyte travels in little memory at both ends.
func gigabyte(d *desk, m *machine) {
	d.targets("ssh {}", "file \"/etc/big\" { source = \"big\" }\n")
	f, err := os.Create(d.at("repo/big"))
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := io.CopyN(f, rand.Reader, 1<<30); err != nil {
		d.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		d.t.Fatal(err)
	}
	p := d.begin("apply", "--yes", "-t", "web1", "--max-file-size", "2GB")
	far := 0
	m.awaitLong("the end of the apply", func() bool {
		far = max(far, m.highWater("serve-stdio"))
		return p.over()
	})
	if d.end(p) != success {
		d.t.Fatal("the apply failed")
	}
	m.want(strconv.Itoa(1<<30), "stat", "-c", "%s", "/etc/big")
	near := int(p.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10)
	d.t.Logf("memory at most: %d MiB here, %d MiB there", near, far)
	if near > 150 || far > 150 || far == 0 {
		d.t.Errorf("a gigabyte takes %d MiB here and %d MiB there", near, far)
	}
	if err := os.Remove(d.at("repo/big")); err != nil {
		d.t.Error(err)
	}
}

// highWater is the most memory that a process of the host has had, in MiB.
func (m *machine) highWater(command string) int {
	most := 0
	for _, pid := range strings.Fields(m.Exec("pgrep", "-f", command).Stdout) {
		for _, line := range strings.Split(m.Exec("cat", filepath.Join("/proc", pid, "status")).Stdout, "\n") {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kb, _ := strconv.Atoi(strings.Fields(rest)[0])
				most = max(most, kb>>10)
			}
		}
	}
	return most
}
