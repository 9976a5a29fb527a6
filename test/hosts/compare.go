package hosts

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Compare returns one line for each difference between two snapshots, sorted. Modification times count
// only if the file is otherwise the same and CompareTimes is used.
//
// allow lists ignored differences, each a key of a Snapshot or a pattern of path.Match. A pattern that
// begins with a slash names a file; with the suffix "/**" it names a directory with its content. See
// Identity and Volatile.
func Compare(a, b Snapshot, allow []string) []string {
	return compare(a, b, allow, func(key string) bool { return !strings.HasPrefix(key, "mtime ") })
}

// CompareTimes is Compare for times of modification alone, and only of files
// that are in both snapshots.
func CompareTimes(a, b Snapshot, allow []string) []string {
	return compare(a, b, allow, func(key string) bool {
		return strings.HasPrefix(key, "mtime ") && a[key] != "" && b[key] != ""
	})
}

func compare(a, b Snapshot, allow []string, want func(key string) bool) []string {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	var differences []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		was, inA := a[key]
		is, inB := b[key]
		if was == is && inA == inB || !want(key) || allowed(key, allow) {
			continue
		}
		differences = append(differences, difference(key, was, inA, is, inB))
	}
	return differences
}

func difference(key, was string, inA bool, is string, inB bool) string {
	switch {
	case !inA:
		return fmt.Sprintf("+ %s: %s", key, is)
	case !inB:
		return fmt.Sprintf("- %s: %s", key, was)
	}
	return fmt.Sprintf("~ %s: %s -> %s", key, was, is)
}

// allowed reports whether one of the patterns covers key.
func allowed(key string, patterns []string) bool {
	for _, pattern := range patterns {
		if strings.HasPrefix(pattern, "/") {
			subject, _, _ := strings.Cut(key, " ")
			if subject != "file" && subject != "mtime" {
				continue
			}
			pattern = subject + " " + pattern
		}
		if dir, ok := strings.CutSuffix(pattern, "/**"); ok && (key == dir || strings.HasPrefix(key, dir+"/")) {
			return true
		}
		if ok, err := path.Match(pattern, key); ok && err == nil || key == pattern {
			return true
		}
	}
	return false
}

// Volatile lists the objects that a running Debian host changes by itself, for Compare: logs, caches
// and the state of systemd. Keep it short: tests do not detect changes of these objects.
func Volatile() []string {
	return []string{
		"/var/lib/systemd/random-seed",
		"/var/lib/systemd/timers/**",
		"/var/backups/dpkg.*", "/var/backups/alternatives.tar.*", // at midnight, by dpkg-db-backup.service
		"/var/log/journal/**",
		"/var/log/wtmp",
		"/tmp/systemd-private-*", "/tmp/systemd-private-*/tmp",
		"/var/tmp/systemd-private-*", "/var/tmp/systemd-private-*/tmp",
		"unit systemd-tmpfiles-clean.service",
		"unit apt-daily*.service", "unit dpkg-db-backup.service", "unit e2scrub_*.service", "unit fstrim.service",
	}
}
