package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// VersionDoc is the output of version as a JSON document.
type VersionDoc struct {
	Format  string `json:"format"` // fettle.version/1
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	// Compiling says, with -v, how the process that compiles is limited here.
	Compiling []string `json:"compiling,omitempty"`
}

// walls are shown with -v only: finding out takes a moment.
func walls(s *Session) []string {
	if !s.Verbose || s.App.Walls == nil {
		return nil
	}
	return s.App.Walls()
}

// DescribeVersion is the output of version as a document.
func DescribeVersion(s *Session) VersionDoc {
	return VersionDoc{"fettle.version/1", s.App.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, walls(s)}
}

func versionLine(version string) string {
	return fmt.Sprintf("fettle %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// NewVersion builds the command version, to show the version of fettle.
func NewVersion(s *Session) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version of fettle",
		Long:    "Shows the version of fettle. With -v it also shows the limits of the process\nthat compiles repositories.",
		Example: "  fettle version\n  fettle version -v",
		Args:    Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if s.JSON {
				return s.Document(DescribeVersion(s))
			}
			s.Printf("%s", versionLine(s.App.Version))
			for _, wall := range walls(s) {
				s.Printf("  compiling: %s\n", wall)
			}
			return nil
		},
	}
}
