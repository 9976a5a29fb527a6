package fact

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// parseOSRelease reads os-release(5): NAME=VALUE, values in shell quotes.
func parseOSRelease(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		if !ok || key == "" || line[0] == '#' {
			continue
		}
		out[key] = word(unquote(value))
	}
	return out
}

// unquote takes one pair of shell quotes off, and backslashes inside double ones.
func unquote(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '"' && s[0] != '\'' {
		return s
	}
	inner := s[1 : len(s)-1]
	if s[0] == '\'' {
		return inner
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		if inner[i] == '\\' && i+1 < len(inner) && strings.IndexByte("\\\"$`", inner[i+1]) >= 0 {
			i++
		}
		b.WriteByte(inner[i])
	}
	return b.String()
}

// parseCPUList returns the number of CPUs in a list such as "0-3,5"; ok is false for any
// other text.
func parseCPUList(s string) (n int64, ok bool) {
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err1 := strconv.ParseUint(from, 10, 16)
		b, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || b < a {
			return 0, false
		}
		n += int64(b-a) + 1
	}
	return n, true
}

// parseMeminfo gives one "Name:  123 kB" of /proc/meminfo in bytes.
func parseMeminfo(text, name string) (bytes int64, ok bool) {
	for line := range strings.Lines(text) {
		rest, found := strings.CutPrefix(line, name+":")
		if !found {
			continue
		}
		f := strings.Fields(rest)
		if len(f) != 2 || f[1] != "kB" {
			return 0, false
		}
		kb, err := strconv.ParseInt(f[0], 10, 50)
		return kb << 10, err == nil && kb >= 0
	}
	return 0, false
}

// parseRoute4 gives the interface of the default route with the lowest metric
// in /proc/net/route, "" when there is none.
func parseRoute4(text string) string {
	best, metric := "", uint64(1<<63)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		flags, err1 := strconv.ParseUint(f[3], 16, 32)
		m, err2 := strconv.ParseUint(f[6], 10, 32)
		if err1 == nil && err2 == nil && usable(flags) && m < metric {
			best, metric = word(f[0]), m
		}
	}
	return best
}

// parseRoute6 is parseRoute4 of /proc/net/ipv6_route.
func parseRoute6(text string) string {
	best, metric := "", uint64(1<<63)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 10 || strings.Trim(f[0], "0") != "" || f[1] != "00" || f[9] == "lo" {
			continue
		}
		flags, err1 := strconv.ParseUint(f[8], 16, 32)
		m, err2 := strconv.ParseUint(f[5], 16, 32)
		if err1 == nil && err2 == nil && usable(flags) && m < metric {
			best, metric = word(f[9]), m
		}
	}
	return best
}

// usable: the route is up (RTF_UP) and does not reject (RTF_REJECT).
func usable(flags uint64) bool { return flags&1 != 0 && flags&0x200 == 0 }

// parseHosts gives the first name with a dot that /etc/hosts has on the lines
// that name the host, "" when there is none.
func parseHosts(text, hostname string) string {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		named, full := false, ""
		for _, name := range f[1:] {
			short, _, dotted := strings.Cut(name, ".")
			named = named || strings.EqualFold(short, hostname)
			if dotted && full == "" && strings.EqualFold(short, hostname) {
				full = strings.TrimSuffix(name, ".")
			}
		}
		if named && full != "" {
			return word(full)
		}
	}
	return ""
}

// parseELF gives the architecture of a program in the words of Debian, Go and
// uname, all "" when the header says nothing known.
func parseELF(header string) [3]string {
	if len(header) < 52 || header[:4] != "\x7fELF" {
		return [3]string{}
	}
	b := []byte(header)
	order, little := binary.ByteOrder(binary.LittleEndian), b[5] == 1
	if !little {
		order = binary.BigEndian
	}
	is64, flags := b[4] == 2, order.Uint32(b[36:40])
	switch order.Uint16(b[18:20]) {
	case 3:
		return [3]string{"i386", "386", "i686"}
	case 62:
		return [3]string{"amd64", "amd64", "x86_64"}
	case 183:
		return [3]string{"arm64", "arm64", "aarch64"}
	case 40:
		if flags&0x400 != 0 {
			return [3]string{"armhf", "arm", "armv7l"}
		}
		return [3]string{"armel", "arm", "armv5tel"}
	case 243:
		if is64 {
			return [3]string{"riscv64", "riscv64", "riscv64"}
		}
	case 21:
		if little {
			return [3]string{"ppc64el", "ppc64le", "ppc64le"}
		}
		return [3]string{"ppc64", "ppc64", "ppc64"}
	case 22:
		return [3]string{"s390x", "s390x", "s390x"}
	case 258:
		return [3]string{"loong64", "loong64", "loongarch64"}
	case 8:
		if is64 && little {
			return [3]string{"mips64el", "mips64le", "mips64"}
		}
	}
	return [3]string{}
}

// parseZone gives the zone that a link to zoneinfo names, "" for other links.
func parseZone(target string) string {
	_, zone, ok := strings.Cut(target, "zoneinfo/")
	if !ok {
		return ""
	}
	zone = strings.TrimPrefix(strings.TrimPrefix(zone, "posix/"), "right/")
	return word(zone)
}

// major is the number that a version begins with.
func major(version string) (int64, bool) {
	end := strings.IndexFunc(version+".", func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseInt(version[:end], 10, 32)
	return n, err == nil
}
