package hosts

import (
	"fmt"
	"os"
	"slices"
)

// Release is a Debian release that hosts can run, by its codename.
type Release string

// The releases that hosts can run.
const (
	Bookworm Release = "bookworm" // Debian 12
	Trixie   Release = "trixie"   // Debian 13
)

// Releases returns all releases that hosts can run, the oldest first.
func Releases() []Release { return []Release{Bookworm, Trixie} }

// envRelease names the release of NewWorld and Base.
const envRelease = "FETTLE_TEST_RELEASE"

// ChosenRelease returns the release that $FETTLE_TEST_RELEASE names, "" if it is unset.
func ChosenRelease() Release { return Release(os.Getenv(envRelease)) }

// DefaultRelease returns the release of NewWorld, AddDebian and Base: the chosen release, or Debian
// 12.
func DefaultRelease() Release {
	if r := ChosenRelease(); r != "" {
		return r
	}
	return Bookworm
}

// check returns an error if hosts cannot run the release.
func (r Release) check() error {
	if slices.Contains(Releases(), r) {
		return nil
	}
	return fmt.Errorf("cannot boot the Debian release %q: set %s to one of %q, or unset it", string(r), envRelease,
		Releases())
}
