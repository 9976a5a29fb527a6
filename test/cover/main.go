package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "fettle.dev/fettle"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cover:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	f := flag.NewFlagSet("cover", flag.ContinueOnError)
	file := f.String("floors", "test/cover/floors.txt", "the floors")
	profile := f.String("profile", "", "read this profile, and run no tests")
	out := f.String("o", "dist/cover.out", "the file for the profile of the tests")
	if err := f.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	floors, err := parseFloors(string(text))
	if err != nil {
		return err
	}
	if *profile == "" {
		if err := measure(directories(floors), *out); err != nil {
			return err
		}
		*profile = *out
	}
	measured, err := os.ReadFile(*profile)
	if err != nil {
		return err
	}
	got, err := read(string(measured), module)
	if err != nil {
		return err
	}
	table, below := compare(floors, got)
	fmt.Print(table)
	if len(below) > 0 {
		return fmt.Errorf("below the floor: %s; see what no test runs with: go tool cover -html=%s",
			strings.Join(below, ", "), *profile)
	}
	return nil
}

// directories returns the directories of the floors for packages.
func directories(floors []floor) []string {
	var out []string
	for _, f := range floors {
		if filepath.Ext(f.path) != ".go" {
			out = append(out, "./"+f.path)
		}
	}
	return out
}

// measure runs the tests of the packages and writes their profile.
func measure(packages []string, out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	args := append([]string{"test", "-timeout", "20m", "-coverprofile", out, "-coverpkg", strings.Join(packages, ",")},
		packages...)
	cmd := exec.Command("go", args...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("the tests fail: %w\n%s", err, said)
	}
	return nil
}
