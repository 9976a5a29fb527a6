package once

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/ui/cli"
)

// copyFlags are the flags of fettle copy.
type copyFlags struct {
	from, dryRun       bool
	owner, group, mode string
	many               cli.ManyFlags
}

func (f *copyFlags) flags(c *cobra.Command) {
	f.many.Flags(c)
	fl := c.Flags()
	fl.BoolVar(&f.from, "from", false, "copy from the targets to this host")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show the files and their destinations, and copy nothing")
	fl.StringVar(&f.owner, "owner", "", "`USER` that owns the file on the target")
	fl.StringVar(&f.group, "group", "", "`GROUP` of the file on the target")
	fl.StringVar(&f.mode, "mode", "", "octal `MODE` of the file on the target")
}
