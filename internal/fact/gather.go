package fact

import (
	"errors"
	"io/fs"
	"net"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// str is a string, null for "".
func str(s string) cty.Value {
	if s == "" {
		return cty.NullVal(cty.String)
	}
	return cty.StringVal(s)
}

func num(n int64, ok bool) cty.Value {
	if !ok {
		return cty.NullVal(cty.Number)
	}
	return cty.NumberIntVal(n)
}

func (s *source) osRelease() (map[string]string, error) {
	text, err := s.text("/etc/os-release")
	if err == nil && text == "" {
		text, err = s.text("/usr/lib/os-release")
	}
	return parseOSRelease(text), err
}

func osRelease(key string) func(*source) (cty.Value, error) {
	return func(s *source) (cty.Value, error) {
		m, err := s.osRelease()
		return str(m[key]), err
	}
}

func osFamily(s *source) (cty.Value, error) {
	m, err := s.osRelease()
	for _, like := range strings.Fields(m["ID_LIKE"]) {
		if like == "debian" {
			return cty.StringVal("debian"), err
		}
	}
	return str(m["ID"]), err
}

func osMajor(s *source) (cty.Value, error) {
	m, err := s.osRelease()
	return num(major(m["VERSION_ID"])), err
}

// arch reads the header of a program that every Debian has: that is right for
// images of other machines too, and for 32-bit systems under a 64-bit kernel.
func arch(column int) func(*source) (cty.Value, error) {
	return func(s *source) (cty.Value, error) {
		for _, p := range []string{"/usr/bin/dpkg", "/bin/sh", "/usr/bin/env"} {
			names, err := s.elf(p)
			if err != nil || names[0] != "" {
				return str(names[column]), err
			}
		}
		return str(""), nil
	}
}

// elf reads only the header of a binary. It does not use text, which converts to UTF-8
// and would change the bytes.
func (s *source) elf(p string) ([3]string, error) {
	p, err := s.follow(p)
	if errors.Is(err, fs.ErrNotExist) {
		return [3]string{}, nil
	}
	if err != nil {
		return [3]string{}, err
	}
	f, err := s.h.Open(p)
	if err != nil {
		return [3]string{}, err
	}
	defer f.Close()
	header := make([]byte, 64)
	n, _ := f.Read(header)
	return parseELF(string(header[:n])), nil
}

func kernel(s *source) (cty.Value, error) {
	t, err := s.text("/proc/sys/kernel/osrelease")
	return str(word(t)), err
}

func bootID(s *source) (cty.Value, error) { return str(word(s.boot)), nil }

func cpus(s *source) (cty.Value, error) {
	t, err := s.text("/sys/devices/system/cpu/online")
	if err != nil || t != "" {
		return num(parseCPUList(t)), err
	}
	t, err = s.text("/proc/cpuinfo")
	n := strings.Count("\n"+t, "\nprocessor")
	return num(int64(n), n > 0), err
}

func meminfo(name string) func(*source) (cty.Value, error) {
	return func(s *source) (cty.Value, error) {
		t, err := s.text("/proc/meminfo")
		return num(parseMeminfo(t, name)), err
	}
}

func (s *source) hostname() (string, error) {
	t, err := "", error(nil)
	if s.running {
		t, err = s.text("/proc/sys/kernel/hostname")
	}
	if err == nil && word(t) == "" {
		t, err = s.text("/etc/hostname")
	}
	return word(t), err
}

func (s *source) fqdn() (string, error) {
	name, err := s.hostname()
	if err != nil || name == "" || strings.Contains(name, ".") {
		return name, err
	}
	hosts, err := s.text("/etc/hosts")
	if full := parseHosts(hosts, name); full != "" {
		return full, err
	}
	return name, err
}

func hostname(s *source) (cty.Value, error) {
	name, err := s.hostname()
	short, _, _ := strings.Cut(name, ".")
	return str(short), err
}

func fqdn(s *source) (cty.Value, error) {
	name, err := s.fqdn()
	return str(name), err
}

func domain(s *source) (cty.Value, error) {
	name, err := s.fqdn()
	_, d, _ := strings.Cut(name, ".")
	return str(d), err
}

func timezone(s *source) (cty.Value, error) {
	zone, err := s.zone()
	return str(zone), err
}

func initSystem(s *source) (cty.Value, error) {
	if s.exists("/run/systemd/system") {
		return str("systemd"), nil
	}
	return str(""), nil
}

func addresses(s *source) (cty.Value, error) {
	list, err := s.interfaces()
	m := map[string]cty.Value{}
	for _, i := range list {
		var l []cty.Value
		for _, a := range i.addresses {
			l = append(l, cty.StringVal(a))
		}
		if l != nil {
			m[i.name] = cty.ListVal(l)
		}
	}
	if len(m) == 0 {
		return cty.MapValEmpty(cty.List(cty.String)), err
	}
	return cty.MapVal(m), err
}

func macAddresses(s *source) (cty.Value, error) {
	list, err := s.interfaces()
	m := map[string]cty.Value{}
	for _, i := range list {
		if i.mac != "" {
			m[i.name] = cty.StringVal(i.mac)
		}
	}
	if len(m) == 0 {
		return cty.MapValEmpty(cty.String), err
	}
	return cty.MapVal(m), err
}

func (s *source) route(v6 bool) (string, error) {
	if v6 {
		t, err := s.text("/proc/net/ipv6_route")
		return parseRoute6(t), err
	}
	t, err := s.text("/proc/net/route")
	return parseRoute4(t), err
}

func defaultInterface(s *source) (cty.Value, error) {
	name, err := s.route(false)
	if err == nil && name == "" {
		name, err = s.route(true)
	}
	return str(name), err
}

func defaultIP(v6 bool) func(*source) (cty.Value, error) {
	return func(s *source) (cty.Value, error) {
		name, err := s.route(v6)
		if err != nil || name == "" {
			return str(""), err
		}
		list, err := s.interfaces()
		for _, i := range list {
			for _, a := range i.addresses {
				if i.name == name && (net.ParseIP(a).To4() == nil) == v6 {
					return str(a), err
				}
			}
		}
		return str(""), err
	}
}
