package once

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// NewCopy builds the command copy, to copy files to targets, or from them.
func NewCopy(s *cli.Session) *cobra.Command {
	var f copyFlags
	c := &cobra.Command{
		Use:   "copy FILE… DEST",
		Short: "Copy files to targets, or from them",
		Long: `Copies files to a path on each target. If there are several files, or DEST ends
with a slash, DEST must be an existing directory. A file is replaced as a whole,
and changed only if its content, owner, group or mode differs. If the target
already has the content, it is not sent.

Without --owner, --group and --mode, a file keeps its owner, group and mode on
the target. A new file belongs to root and has mode 0644.

With --from, files of the targets are copied to this host. Files of many
targets are copied to DEST/TARGET/NAME. A file of one target is copied to DEST,
or to DEST/NAME if there are several files or DEST ends with a slash.

Copied files are not part of the applied state: plans and rollbacks ignore them.
Put files that must be kept into the repository.`,
		Example: "  fettle copy -t 'web*' motd /etc/motd\n  fettle copy -t web1 --mode 0755 a.sh b.sh /usr/local/bin/\n  fettle copy -t 'web*' --from /var/log/dpkg.log logs",
		Args:    cli.Args(2, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return copyFiles(c.Context(), s, f, a[:len(a)-1], a[len(a)-1])
		},
	}
	f.flags(c)
	s.FrozenFlag(c)
	return c
}

func copyFiles(ctx context.Context, s *cli.Session, f copyFlags, sources []string, dest string) error {
	if f.from {
		return copyFrom(ctx, s, f, sources, dest)
	}
	if !path.IsAbs(dest) {
		return cli.Refuse("Use an absolute path on the target, such as /etc/motd",
			fmt.Sprintf("cannot copy to %q: it is not absolute", dest))
	}
	var files []executor.File
	for _, src := range sources {
		to := path.Clean(dest)
		if len(sources) > 1 || strings.HasSuffix(dest, "/") {
			to = path.Join(dest, filepath.Base(src))
		}
		file, err := here.Describe(src)
		if err != nil {
			return err
		}
		file.Path, file.Owner, file.Group, file.Mode = to, f.owner, f.group, f.mode
		files = append(files, file)
	}
	if f.dryRun {
		return wouldCopy(ctx, s, f, sources, files)
	}
	return onEach(ctx, s, f.many, hostTask{doing: "Copying to", verb: "Copied to",
		words: map[fanout.Status]string{fanout.OK: "in sync"},
		one: func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
			return putFiles(ctx, m, x, sources, files)
		}})
}

func wouldCopy(ctx context.Context, s *cli.Session, f copyFlags, sources []string, files []executor.File) error {
	names, err := namesMeant(ctx, s, f.many)
	if err != nil {
		return err
	}
	cmd := executor.Command{Action: "copy"}
	for i, file := range files {
		cmd.Argv = append(cmd.Argv, []string{"copy", sources[i], file.Path})
	}
	return wouldRun(s.Printer, cmd, names)
}

// putFiles copies the files to one target.
func putFiles(ctx context.Context, m *cli.Member, x executor.Executor, sources []string,
	files []executor.File) round.Outcome {
	fx, ok := x.(executor.Files)
	if !ok {
		return cli.Failed(errors.New("cannot copy there: it only accepts step lists"))
	}
	changed := 0
	for i, f := range files {
		res, err := fx.Put(ctx, f, func() (io.ReadCloser, error) { return os.Open(sources[i]) }, m.RunOptions())
		if err != nil {
			return cli.Failed(err)
		}
		if res.Changed {
			changed++
		}
	}
	if changed == 0 {
		return round.Outcome{Status: fanout.OK, Line: "already in sync"}
	}
	return round.Outcome{Status: fanout.Changed, Line: render.Count(changed, "file") + " copied"}
}
