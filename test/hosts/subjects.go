package hosts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// addAccounts adds one entry for each line of the account databases.
func (s Snapshot) addAccounts(root string) error {
	for _, db := range []string{"passwd", "shadow", "group", "gshadow"} {
		text, err := os.ReadFile(filepath.Join(root, "etc", db))
		if err != nil {
			return fmt.Errorf("cannot read the accounts: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			s[db+" "+name] = rest
		}
	}
	return nil
}

// addPackages adds one entry for each package that dpkg knows: version, dpkg's
// status, in which a hold shows, and whether apt installed it by itself.
func (s Snapshot) addPackages(root string) error {
	status, err := stanzas(filepath.Join(root, "var/lib/dpkg/status"))
	if err != nil {
		return err
	}
	extended, err := stanzas(filepath.Join(root, "var/lib/apt/extended_states"))
	if err != nil {
		return err
	}
	auto := map[string]bool{}
	for _, stanza := range extended {
		auto[stanza["Package"]+":"+stanza["Architecture"]] = stanza["Auto-Installed"] == "1"
	}
	for _, stanza := range status {
		name, arch := stanza["Package"], stanza["Architecture"]
		mark := "manual"
		if auto[name+":"+arch] {
			mark = "auto"
		}
		key := "package " + name
		if stanza["Multi-Arch"] == "same" {
			key += ":" + arch
		}
		s[key] = fmt.Sprintf("%s (%s) %s", stanza["Version"], stanza["Status"], mark)
	}
	return nil
}

// stanzas reads the one-line fields of a file of Debian control data. A missing
// file has none.
func stanzas(path string) ([]map[string]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the packages: %w", err)
	}
	var all []map[string]string
	for block := range strings.SplitSeq(string(text), "\n\n") {
		fields := map[string]string{}
		for line := range strings.Lines(block) {
			name, value, ok := strings.Cut(line, ":")
			if ok && !strings.HasPrefix(line, " ") {
				fields[name] = strings.TrimSpace(value)
			}
		}
		if fields["Package"] != "" {
			all = append(all, fields)
		}
	}
	return all, nil
}

// addUnits adds one entry for each unit from the output of systemctl: whether its file is enabled, and
// whether it is loaded and active. It omits mounts, devices, slices and scopes, which depend on the
// machine.
func (s Snapshot) addUnits(files, units string) {
	for line := range strings.Lines(files) {
		if f := strings.Fields(line); len(f) >= 2 && configurable(f[0]) {
			s["unit-file "+f[0]] = f[1]
		}
	}
	for line := range strings.Lines(units) {
		if f := strings.Fields(line); len(f) >= 4 && configurable(f[0]) {
			s["unit "+f[0]] = f[1] + " " + f[2]
		}
	}
}

func configurable(unit string) bool {
	switch filepath.Ext(unit) {
	case ".service", ".socket", ".timer", ".path", ".target":
		return true
	}
	return false
}
