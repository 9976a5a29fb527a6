package repository

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/graph"
	"fettle.dev/fettle/internal/ui/cli"
	hostcmd "fettle.dev/fettle/internal/ui/cli/host"
	"fettle.dev/fettle/internal/ui/listgraph"
)

// graphOptions are the flags of the command graph.
type graphOptions struct {
	run    int
	output string
	format cli.Choice
}

// NewGraph builds the command graph, to draw the steps of a list or of a run.
func NewGraph(s *cli.Session) *cobra.Command {
	o := graphOptions{format: cli.Choice{Value: "svg", Of: []string{"svg", "dot"}}}
	c := &cobra.Command{
		Use:   "graph [FILE]",
		Short: "Draw the steps of a target, of a step file or of a run",
		Long: `Draws the steps with their requirements, phases and checks: of the list of a
target, of a step file, or of a run with the outcome of each step. The picture
is an SVG file without scripts, which every browser opens. Point at a step to
see its state, its place in the source and the steps before it.`,
		Example: "  fettle graph -t web1 -o web1.svg\n  fettle graph web1.steps > web1.svg\n" +
			"  fettle graph --run 12 -o run.svg\n  fettle graph --format dot | dot -Tpdf > list.pdf",
		Args: cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error { return drawGraph(c.Context(), s, o, a) },
	}
	cli.OutputFlag(c, &o.output, "write the picture to a `FILE`")
	cli.NumberVar(c.Flags(), &o.run, "run", 0, 1, "draw the run with the number `RUN`")
	c.Flags().Var(&o.format, "format", "format of the picture; dot is for Graphviz")
	return c
}

func drawGraph(ctx context.Context, s *cli.Session, o graphOptions, a []string) error {
	if len(a) > 0 && o.run > 0 {
		return cli.Refuse("Omit one of them", "cannot draw a step file and a run in one picture")
	}
	if s.App.Terminal.Out && o.output == "" && !s.JSON && o.format.Value == "svg" {
		return cli.Refuse("Write it to a file: --output graph.svg", "cannot show SVG on a terminal")
	}
	g, err := graphOf(ctx, s, o, a)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.Document(graphDocument(g))
	}
	text, err := drawn(g, o.format.Value)
	if err != nil {
		return err
	}
	if o.output != "" {
		err = os.WriteFile(o.output, text, 0o644)
	} else {
		_, err = s.App.Stdout.Write(text)
	}
	if err != nil {
		return fmt.Errorf("cannot write the picture: %w", err)
	}
	return nil
}

// graphOf returns the graph that the user asks for.
func graphOf(ctx context.Context, s *cli.Session, o graphOptions, a []string) (g *graph.Graph, err error) {
	switch {
	case o.run > 0:
		err = cli.WithExecutor(ctx, s, func(x executor.Executor) error {
			g, err = graphOfRun(ctx, s, x, o.run)
			return err
		})
	case len(a) > 0:
		g, err = graphOfFile(s, a[0])
	default:
		g, err = graphOfTarget(ctx, s)
	}
	return g, err
}

func graphOfRun(ctx context.Context, s *cli.Session, x executor.Executor, run int) (*graph.Graph, error) {
	n, err := hostcmd.RunNumber(ctx, x, []string{strconv.Itoa(run)})
	if err != nil {
		return nil, err
	}
	if d, err := executor.DetailsOf(ctx, x, n, false); err == nil {
		return listgraph.OfRun(s.Target, d.Shown), nil
	}
	shown, err := x.Show(ctx, n) // an executor of an earlier version
	if err != nil {
		return nil, err
	}
	return listgraph.OfRun(s.Target, shown), nil
}

// graphOfFile draws a step file. A user can confuse it with the name of a target or the number of a run.
func graphOfFile(s *cli.Session, file string) (*graph.Graph, error) {
	if !cli.FileExists(file) && !strings.ContainsAny(file, "./") {
		meant := "-t " + file
		if n, err := strconv.Atoi(file); err == nil && n > 0 {
			meant = "--run " + file
		}
		return nil, cli.Refuse("Did you mean: fettle graph "+meant, fmt.Sprintf("there is no step file %q", file))
	}
	f, err := readSteps(s, file)
	if err != nil {
		return nil, err
	}
	defer f.close()
	return listgraph.OfList(file, f.list, nil), nil
}

func graphOfTarget(ctx context.Context, s *cli.Session) (*graph.Graph, error) {
	req, closing, err := s.Request(ctx, false)
	if err != nil {
		return nil, err
	}
	defer closing()
	if err := req.Fill(); err != nil {
		return nil, err
	}
	g := listgraph.OfList(req.Target, req.List, req.States)
	if n := len(req.Deferred); n > 0 {
		g.Notes = append(g.Notes, fmt.Sprintf("%d states are not drawn: only a run can provide their values", n))
	}
	return g, nil
}
