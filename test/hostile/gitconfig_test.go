package hostile

import (
	"os"
	"path/filepath"
	"strings"
)

// configAttacks name programs and files in everything that configures git. All
// of them are harmless: nothing of it is heeded.
func configAttacks() []attack {
	set := func(lines ...string) func(*enemy) {
		return func(e *enemy) {
			for _, l := range lines {
				key, value, _ := strings.Cut(l, "=")
				e.git("config", "--add", key, strings.ReplaceAll(strings.ReplaceAll(value, "EVIL", e.evil(key)), "OUTSIDE",
					e.outside))
			}
		}
	}
	attributes := func(attr string, lines ...string) func(*enemy) {
		return func(e *enemy) {
			e.put(".gitattributes", "* "+attr+"\n")
			e.git("add", "-A")
			e.git("commit", "-q", "-m", "attributes")
			e.put("files/y", "not committed")
			set(lines...)(e)
		}
	}
	both := []attack{
		{name: "core.fsmonitor", make: set("core.fsmonitor=EVIL", "core.fsmonitorHookVersion=2")},
		{name: "core.hooksPath", make: set("core.hooksPath=OUTSIDE")},
		{name: "core.sshCommand and a promised remote",
			make: set("core.repositoryFormatVersion=1", "core.sshCommand=EVIL", "remote.origin.url=ssh://x/y",
				"remote.origin.promisor=true", "extensions.partialClone=origin", "remote.origin.partialCloneFilter=blob:none")},
		{name: "a remote that is a program", make: set("protocol.allow=always", "protocol.ext.allow=always",
			"remote.origin.url=ext::EVIL", "remote.origin.vcs=ext", "remote.origin.uploadpack=EVIL")},
		{name: "core.pager and pagers", make: set("core.pager=EVIL", "pager.ls-files=EVIL", "pager.ls-tree=EVIL",
			"pager.cat-file=EVIL", "pager.rev-parse=EVIL")},
		{name: "aliases", make: set("alias.ls-files=!EVIL", "alias.ls-tree=!EVIL", "alias.cat-file=!EVIL",
			"alias.rev-parse=!EVIL")},
		{name: "editors and helpers", make: set("core.editor=EVIL", "sequence.editor=EVIL", "core.askPass=EVIL",
			"credential.helper=!EVIL", "core.gitProxy=EVIL", "gpg.program=EVIL", "log.showSignature=true",
			"gpg.ssh.program=EVIL")},
		{name: "alternate references by a program", make: set("core.alternateRefsCommand=EVIL")},
		{name: "uploadpack.packObjectsHook", make: set("uploadpack.packObjectsHook=EVIL")},
		{name: "maintenance", make: set("gc.auto=1", "gc.autoDetach=false", "maintenance.auto=true",
			"gc.recentObjectsHook=EVIL")},
		{name: "include.path outside", make: func(e *enemy) {
			write(e.t, e.outside+"/config", "[core]\n\tfsmonitor = "+e.evil("include")+"\n[alias]\n\tls-files = !"+
				e.evil("include")+"\n", 0o644)
			set("include.path=OUTSIDE/config", "includeIf.gitdir:/.path=OUTSIDE/config")(e)
		}},
		{name: "core.worktree outside", make: set("core.worktree=OUTSIDE")},
		{name: "core.bare that lies", make: set("core.bare=true")},
		{name: "safe.directory and trust", make: set("safe.directory=*", "safe.bareRepository=all")},
		{name: "trace files", make: set("trace2.eventTarget=OUTSIDE/trace", "trace2.normalTarget=OUTSIDE/trace",
			"trace2.perfTarget=OUTSIDE/trace")},
		{name: "an index that is to be rewritten", make: set("core.splitIndex=true", "core.untrackedCache=true",
			"index.version=4", "feature.manyFiles=true", "splitIndex.sharedIndexExpire=now")},
		{name: "attribute and exclude files outside", make: func(e *enemy) {
			write(e.t, e.outside+"/all", "*\n", 0o644)
			set("core.attributesFile=OUTSIDE/all", "core.excludesFile=OUTSIDE/all")(e)
		}},
		{name: "hooks", make: func(e *enemy) {
			for _, h := range []string{"post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman",
				"pre-auto-gc", "post-commit", "pre-commit", "sendemail-validate", "p4-pre-submit", "proc-receive"} {
				write(e.t, e.repo+"/.git/hooks/"+h, e.script("hook "+h), 0o755)
			}
		}},
		{name: "configuration of a work tree", make: func(e *enemy) {
			set("core.repositoryFormatVersion=1", "extensions.worktreeConfig=true")(e)
			e.raw("config.worktree", "[core]\n\tworktree = "+e.outside+"\n\tfsmonitor = "+e.evil("config.worktree")+"\n")
		}},
		{name: "filters", make: attributes("filter=evil", "filter.evil.clean=EVIL", "filter.evil.smudge=EVIL",
			"filter.evil.process=EVIL", "filter.evil.required=true")},
		{name: "textconv, external diff and merge", make: attributes("diff=evil merge=evil", "diff.evil.textconv=EVIL",
			"diff.evil.command=EVIL", "diff.external=EVIL", "merge.evil.driver=EVIL %A")},
		{name: "the tracked LFS", make: attributes("filter=lfs", "filter.lfs.clean=git-lfs clean",
			"filter.lfs.smudge=git-lfs smudge", "filter.lfs.process=git-lfs filter-process")},
	}
	var list []attack
	for _, a := range both {
		work, rev := a, a
		rev.name += ", by revision"
		rev.rev, rev.long = "main", true
		list = append(list, work, rev)
	}
	return append(list, brokenConfigs()...)
}

// brokenConfigs are those that git itself refuses, and pointers elsewhere.
func brokenConfigs() []attack {
	return []attack{
		{name: "a format that nobody knows", make: func(e *enemy) { e.git("config", "core.repositoryFormatVersion", "99") },
			says: []string{"cannot open repository", "99"}},
		{name: "an extension that nobody knows", make: func(e *enemy) {
			e.git("config", "core.repositoryFormatVersion", "1")
			e.git("config", "extensions.evil", "true")
		}, says: []string{"cannot open repository", "evil"}},
		{name: "a configuration that is noise", make: func(e *enemy) { e.raw("config", "[core\n\x00\x1b[31m") },
			says: []string{"cannot open repository", "config"}},
		{name: "a configuration that includes itself",
			make: func(e *enemy) { e.raw("config", "[include]\n\tpath = config\n") }, says: []string{"cannot open repository"}},
		{name: "a configuration that includes a secret", make: func(e *enemy) {
			write(e.t, e.outside+"/secret", "root:$6$secret:1\n", 0o600)
			e.raw("config", "[include]\n\tpath = "+e.outside+"/secret\n")
		}, says: []string{"cannot open repository", "bad config"}},
		{name: "an index that is noise", make: func(e *enemy) {
			e.raw("index",
				"DIRC\x00\x00\x00\x02\xff\xff\xff\xffnoise")
		}, says: []string{"git"}},
		{name: "an index that is a directory", make: func(e *enemy) {
			must(e.t, os.Remove(e.repo+"/.git/index"))
			e.raw("index/x", "")
		}, says: []string{"git"}},
		{name: ".git that points outside", make: func(e *enemy) {
			must(e.t, os.Rename(e.repo+"/.git", e.outside+"/dotgit"))
			write(e.t, e.outside+"/dotgit/hooks/post-index-change", e.script("hook"), 0o755)
			e.put(".git", "gitdir: ../outside/dotgit\n")
		}},
		{name: ".git that is a link", make: func(e *enemy) {
			must(e.t, os.Rename(e.repo+"/.git", e.outside+"/dotgit"))
			must(e.t, os.Symlink(e.outside+"/dotgit", e.repo+"/.git"))
		}},
		{name: ".git that points to no repository", make: func(e *enemy) { pointer(e, "gitdir: /etc\n") },
			says: []string{"/.git", "/etc"}},
		{name: ".git that is noise", make: func(e *enemy) { pointer(e, "\x00\x1b[31mnoise") },
			says: []string{"/.git", "pointer"}},
		{name: ".git that is a giant", make: func(e *enemy) {
			pointer(e, "gitdir: ")
			must(e.t, os.Truncate(e.repo+"/.git", 1<<40))
		}, says: []string{"/.git", "pointer"}},
		{name: "a common directory outside", make: func(e *enemy) {
			must(e.t, os.CopyFS(e.outside+"/common", os.DirFS(e.repo+"/.git")))
			write(e.t, e.outside+"/common/config", "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "+e.evil("common")+
				"\n[alias]\n\tls-files = !"+e.evil("common")+"\n", 0o644)
			e.raw("commondir", e.outside+"/common\n")
		}},
		{name: "a repository of SHA-256", make: func(e *enemy) {
			must(e.t, os.RemoveAll(filepath.Join(e.repo, ".git")))
			e.git("init", "-q", "-b", "main", "--object-format=sha256", ".")
			e.git("add", "-A")
			e.git("commit", "-q", "-m", "c")
		}},
	}
}

func pointer(e *enemy, text string) {
	must(e.t, os.RemoveAll(e.repo+"/.git"))
	e.put(".git", text)
}
