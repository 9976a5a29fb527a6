package fact

import (
	"strings"
	"testing"
)

func TestParseELF(t *testing.T) {
	for _, c := range []struct {
		header, want string
	}{
		{elfHeader(2, 1, 62, 0), "amd64"}, {elfHeader(1, 1, 3, 0), "i386"}, {elfHeader(2, 1, 183, 0), "arm64"},
		{elfHeader(1, 1, 40, 0x5000400), "armhf"}, {elfHeader(1, 1, 40, 0x5000200), "armel"},
		{elfHeader(2, 1, 243, 0), "riscv64"},
		{elfHeader(2, 1, 21, 0), "ppc64el"}, {elfHeader(2, 2, 21, 0), "ppc64"}, {elfHeader(2, 2, 22, 0), "s390x"},
		{elfHeader(2, 1, 999, 0), ""}, {"\x7fELF", ""}, {"#!/bin/sh" + strings.Repeat(" ", 60), ""},
	} {
		if got := parseELF(c.header)[0]; got != c.want {
			t.Errorf("%q: %q, want %q", c.header[:4], got, c.want)
		}
	}
}

func TestParsers(t *testing.T) {
	m := parseOSRelease("# c\nID='a b'\nX=\"q\\\"\\$\\x\"\nbad\n=x\nID_LIKE=debian ubuntu\n")
	if m["ID"] != "a b" || m["X"] != `q"$\x` || m["ID_LIKE"] != "debian ubuntu" || len(m) != 3 {
		t.Errorf("%q", m)
	}
	for in, want := range map[string]int64{"0": 1, "0-3": 4, "0,2-3\n": 3} {
		if n, ok := parseCPUList(in); n != want || !ok {
			t.Errorf("%q: %d %v", in, n, ok)
		}
	}
	for _, in := range []string{"", "x", "3-1", "0,", "0-99999999"} {
		if _, ok := parseCPUList(in); ok {
			t.Errorf("%q counts", in)
		}
	}
	for in, want := range map[string]string{
		"127.0.1.1 web1.example.org web1":      "web1.example.org",
		"127.0.1.1 web1 web1.example.org":      "web1.example.org",
		"10.0.0.1 web1\n10.0.0.2 WEB1.a.b.":    "WEB1.a.b",
		"10.0.0.1 web10.example.org":           "",
		"#127.0.1.1 web1.example.org web1\n":   "",
		"127.0.1.1 other.example.org web1.x.y": "web1.x.y",
	} {
		if got := parseHosts(in, "web1"); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	for in, want := range map[string]string{"/usr/share/zoneinfo/Etc/UTC": "Etc/UTC",
		"../usr/share/zoneinfo/posix/Asia/Tokyo": "Asia/Tokyo", "/x": ""} {
		if got := parseZone(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if got := parseRoute4("eth0\t00000000\t0\t0201\t0\t0\t0\t00000000\n"); got != "" {
		t.Errorf("a route that rejects is the default: %q", got)
	}
}

func TestMachine(t *testing.T) {
	for _, c := range []struct{ vendor, product, board, flags, want string }{
		{"QEMU", "Standard PC", "", "", "qemu"}, {"QEMU", "KVM Virtual Machine", "", "", "kvm"},
		{"VMware, Inc.", "VMware7,1", "", "", "vmware"},
		{"innotek GmbH", "VirtualBox", "", "", "oracle"}, {"Microsoft Corporation", "Virtual Machine", "", "", "microsoft"},
		{"Microsoft Corporation", "Surface", "", "", "none"}, {"Amazon EC2", "t3.micro", "Amazon EC2", "", "amazon"},
		{"Amazon EC2", "m5.metal", "Amazon EC2", "", "none"},
		{"", "", "", "flags : fpu hypervisor", "vm-other"}, {"Dell Inc.", "R640", "", "flags : fpu vmx", "none"},
	} {
		if got := machine(c.vendor, c.product, c.board, c.flags); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	files := map[string]string{"/proc/1/environ": "PATH=/\x00container=systemd-nspawn\x00"}
	if got := fakeSource("/", files).container(); got != "systemd-nspawn" {
		t.Error(got)
	}
	if got := fakeSource("/", map[string]string{"/.dockerenv": ""}).container(); got != "docker" {
		t.Error(got)
	}
}

func FuzzParsers(f *testing.F) {
	for _, text := range bookworm() {
		f.Add(text)
	}
	f.Add("a=\"\"\n'='\n")
	f.Fuzz(func(t *testing.T, text string) {
		for k, v := range parseOSRelease(text) {
			if k == "" || len(v) > 256 || strings.ContainsAny(v, "\n\x00\x1b") {
				t.Errorf("%q = %q", k, v)
			}
		}
		if n, ok := parseMeminfo(text, "MemTotal"); ok && n < 0 {
			t.Error(n)
		}
		if n, ok := parseCPUList(text); ok && n < 1 {
			t.Error(n)
		}
		for _, s := range []string{parseRoute4(text), parseRoute6(text), parseHosts(text, "web1"), parseZone(text)} {
			if len(s) > 256 || strings.ContainsAny(s, "\n\x00\x1b") {
				t.Errorf("%q", s)
			}
		}
		parseELF(text)
		major(text)
		machine(text, text, text, text)
	})
}
