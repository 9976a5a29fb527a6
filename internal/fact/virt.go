package fact

import (
	"strings"

	"github.com/zclconf/go-cty/cty"
)

func firmware(name string) func(*source) (cty.Value, error) {
	return func(s *source) (cty.Value, error) { return str(s.dmi(name)), nil }
}

// dmi is "" where there is no firmware to ask, or no permission.
func (s *source) dmi(name string) string {
	t, err := s.text("/sys/class/dmi/id/" + name)
	if err != nil {
		return ""
	}
	return word(t)
}

func container(s *source) (cty.Value, error) { return cty.BoolVal(s.container() != ""), nil }

func virtualization(s *source) (cty.Value, error) {
	if c := s.container(); c != "" {
		return str(c), nil
	}
	cpu, err := s.text("/proc/cpuinfo")
	vm := machine(s.dmi("sys_vendor"), s.dmi("product_name"), s.dmi("board_vendor"), cpu)
	if vm == "none" && s.exists("/proc/xen") {
		vm = "xen"
	}
	return str(vm), err
}

// container is the type of the container that this machine is, "" for none. Files that an
// engine creates inside are checked first, because /proc/1/environ may be inaccessible.
func (s *source) container() string {
	if t, err := s.text("/run/systemd/container"); err == nil && word(t) != "" {
		return word(t)
	}
	if t, err := s.text("/proc/1/environ"); err == nil {
		for entry := range strings.SplitSeq(t, "\x00") {
			if name, ok := strings.CutPrefix(entry, "container="); ok && name != "" {
				return word(name)
			}
		}
	}
	switch {
	case s.exists("/run/.containerenv"):
		return "podman"
	case s.exists("/.dockerenv"):
		return "docker"
	}
	return ""
}

// machine judges the firmware's words, in the order of systemd-detect-virt.
func machine(vendor, product, board, cpuinfo string) string {
	for _, v := range []struct{ prefix, name string }{
		{"KVM", "kvm"}, {"OpenStack", "kvm"}, {"KubeVirt", "kvm"}, {"Amazon EC2", "amazon"}, {"QEMU", "qemu"},
		{"VMware", "vmware"},
		{"VMW", "vmware"}, {"innotek GmbH", "oracle"}, {"VirtualBox", "oracle"}, {"Oracle Corporation", "oracle"},
		{"Xen", "xen"}, {"Bochs", "bochs"},
		{"Parallels", "parallels"}, {"BHYVE", "bhyve"}, {"Hyper-V", "microsoft"}, {"Apple Virtualization", "apple"},
		{"Google Compute Engine", "google"},
	} {
		for _, text := range []string{product, vendor, board} {
			if strings.HasPrefix(text, v.prefix) && !(v.name == "amazon" && strings.Contains(product, ".metal")) {
				return v.name
			}
		}
	}
	switch {
	case vendor == "Microsoft Corporation" && product == "Virtual Machine":
		return "microsoft"
	case hypervisorFlag(cpuinfo):
		return "vm-other"
	}
	return "none"
}

// hypervisorFlag is the bit that a processor shows to guests.
func hypervisorFlag(cpuinfo string) bool {
	for line := range strings.Lines(cpuinfo) {
		if strings.HasPrefix(line, "flags") {
			return strings.Contains(line+" ", " hypervisor ") || strings.HasSuffix(strings.TrimSpace(line), " hypervisor")
		}
	}
	return false
}
