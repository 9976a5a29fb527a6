package explain

import (
	"context"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
)

func explainAddr(ctx context.Context, s *cli.Printer, k *known, a addr.Addr) explanation {
	e := explanation{Addr: a, phase: 1}
	commit := ""
	for _, entry := range k.status.State.Entries {
		if entry.Addr == a {
			commit = k.applied(&e, entry)
		}
	}
	if k.wanted != nil {
		k.want(&e)
	}
	e.State = k.stateAt(a, e.phase)
	k.sourceLine(ctx, &e, commit)
	return e
}

// applied adds the data of the journal, and returns the commit at which the source must be read.
func (k *known) applied(e *explanation, entry journal.Entry) string {
	e.Applied, e.Source, e.First, e.By = entry.Step.String(), entry.Src, entry.FirstRun, entry.PurgedBy
	e.Origin, e.phase = originText(entry.Origin), entry.Step.Phase()
	commit := k.status.State.Revision.Commit
	if file, _ := splitSource(entry.Src); entry.Src != "" {
		if part, ok := k.status.State.Revision.PartOf(file); ok {
			commit = part.Commit
		}
	}
	if r, ok := k.runs[entry.Run]; ok {
		doc := rundoc.InfoOf(r)
		e.Run = &doc
	}
	return commit
}
