package fact

import (
	"cmp"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Guest is a guest of a host: a container of systemd-nspawn, or another machine that is registered with
// systemd-machined.
type Guest struct {
	Name    string
	State   string // GuestRunning, GuestStopped or GuestMissing
	Machine string // fact machine_id of the guest, or "" if it is unknown
}

// The states of guests.
const (
	GuestRunning = "running" // registered with systemd-machined
	GuestStopped = "stopped" // its root exists, and it is not registered
	GuestMissing = "missing" // only its settings exist
)

// MaxGuests is the maximum number of guests that are reported, in the order of their names.
const MaxGuests = 256

// Place is the position of a host among hosts that contain others.
type Place struct {
	Machine   string // fact machine_id
	Container string // type of the container that the host is, such as systemd-nspawn, or ""
	Guests    []Guest
	More      int // guests above MaxGuests
}

// PlaceOf observes the place of a running host. ok is false for an image.
func PlaceOf(h host.Host) (p Place, ok bool, err error) {
	s := newSource(h)
	if !s.running {
		return p, false, nil
	}
	id, err := s.text("/etc/machine-id")
	if err != nil {
		return p, false, err
	}
	p.Machine, p.Container = machineName(word(id)), s.container()
	p.Guests, err = s.guests()
	if len(p.Guests) > MaxGuests {
		p.More = len(p.Guests) - MaxGuests
		p.Guests = p.Guests[:MaxGuests]
	}
	return p, err == nil, err
}

const (
	machineImages   = "/var/lib/machines"
	machineSettings = "/etc/systemd/nspawn"
	machineRegister = "/run/systemd/machines"
)

var guestName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$`)
})

// guests returns all guests, sorted by name. It skips names that systemd-machined does not accept.
func (s *source) guests() ([]Guest, error) {
	all := map[string]Guest{}
	settings, err1 := s.entries(machineSettings)
	for _, name := range settings {
		if name, ok := strings.CutSuffix(name, ".nspawn"); ok {
			all[name] = Guest{Name: name, State: GuestMissing}
		}
	}
	images, err2 := s.entries(machineImages)
	for _, file := range images {
		if name, ok := s.rootOf(file); ok {
			all[name] = Guest{Name: name, State: GuestStopped, Machine: s.machineOfRoot(machineImages + "/" + name)}
		}
	}
	registered, err3 := s.entries(machineRegister)
	for _, name := range registered {
		path := machineRegister + "/" + name
		if st, err := s.h.Lstat(path); err != nil || st.Type != image.Regular {
			continue // a link is an alias of another entry
		}
		id := s.registeredID(path)
		all[name] = Guest{Name: name, State: GuestRunning, Machine: cmp.Or(id, all[name].Machine)}
	}
	out := make([]Guest, 0, len(all))
	for name, g := range all {
		if guestName().MatchString(name) && !strings.Contains(name, "..") {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b Guest) int { return strings.Compare(a.Name, b.Name) })
	return out, errors.Join(err1, err2, err3)
}

// entries returns the names in a directory, or nil if it does not exist.
func (s *source) entries(dir string) ([]string, error) {
	dir, err := s.follow(dir)
	if err == nil {
		var names []string
		if names, err = s.h.ReadDir(dir); err == nil {
			return names, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return nil, err
}

// rootOf returns the name of the guest with this entry of /var/lib/machines. ok is false for other entries.
func (s *source) rootOf(file string) (name string, ok bool) {
	st, err := s.h.Lstat(machineImages + "/" + file)
	if err != nil {
		return "", false
	}
	if st.Type == image.Directory {
		return file, true
	}
	name, ok = strings.CutSuffix(file, ".raw")
	return name, ok && st.Type == image.Regular
}

// machineOfRoot returns the fact machine_id of the guest with this root, or "". The root of the guest can replace its
// files by links, so a link is not followed.
func (s *source) machineOfRoot(root string) string {
	file := root + "/etc/machine-id"
	etc, err1 := s.h.Lstat(root + "/etc")
	st, err2 := s.h.Lstat(file)
	if err1 != nil || err2 != nil || etc.Type != image.Directory || st.Type != image.Regular {
		return ""
	}
	text, err := s.text(file)
	if err != nil {
		return ""
	}
	return machineName(word(text))
}

// registeredID returns the fact machine_id of a machine that is registered with systemd-machined, or "". A guest
// without /etc/machine-id takes the ID with which systemd-nspawn registered it.
func (s *source) registeredID(path string) string {
	text, err := s.text(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		if id, ok := strings.CutPrefix(line, "ID="); ok {
			return machineName(word(id))
		}
	}
	return ""
}

func guests(s *source) (cty.Value, error) {
	list, err := s.guests()
	if errors.Is(err, fs.ErrPermission) { // the user is not root: the other facts are still available
		return cty.NullVal(cty.Map(cty.String)), nil
	}
	m := map[string]cty.Value{}
	for _, g := range list[:min(len(list), MaxGuests)] {
		m[g.Name] = cty.StringVal(g.State)
	}
	if len(m) == 0 {
		return cty.MapValEmpty(cty.String), err
	}
	return cty.MapVal(m), err
}
