package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

type versionDoc struct {
	Format  string `json:"format"` // fettle.version/1
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	// Compiling says, with -v, how the process that compiles is limited here.
	Compiling []string `json:"compiling,omitempty"`
}

// walls are shown with -v only: finding out takes a moment.
func walls(s *session) []string {
	if !s.verbose || s.app.Walls == nil {
		return nil
	}
	return s.app.Walls()
}

func describeVersion(s *session) versionDoc {
	return versionDoc{"fettle.version/1", s.app.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, walls(s)}
}

func versionLine(version string) string {
	return fmt.Sprintf("fettle %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersion(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version of fettle",
		Long:    "Shows the version of fettle. With -v it also shows the limits of the process\nthat compiles repositories.",
		Example: "  fettle version\n  fettle version -v",
		Args:    args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if s.json {
				return s.document(describeVersion(s))
			}
			s.printf("%s", versionLine(s.app.Version))
			for _, wall := range walls(s) {
				s.printf("  compiling: %s\n", wall)
			}
			return nil
		},
	}
}
