package main

import (
	"fmt"
	"strings"
)

const cfHostFolder = hostInput + "/cfengine"

// cfHost is cf-agent on a mixed host.
func cfHost() tool {
	return tool{
		name: "cf-agent", about: "packages by dpkg -l, users, copies by digest, links, templates in Mustache",
		prepare: func(p place) error {
			if err := input(p, "web.mustache", hostText("{{name}}", "{{port}}")); err != nil {
				return err
			}
			return cfWorkFolder(p.dest+cfHostFolder, cfHostPolicy())
		},
		command: func(place, work) []string { return cfRun(cfHostFolder) },
	}
}

// cfHostBodies has the package method of the standard library for apt, which
// looks at the packages in each run.
const cfHostBodies = `body common control { bundlesequence => { "main" }; version => "1"; }
body agent control { ifelapsed => "0"; expireafter => "600"; }
body perms m { mode => "0644"; rxdirs => "true"; }
body copy_from cp(s) { source => "$(s)"; compare => "digest"; copy_backup => "false"; }
body link_from ln(s) { source => "$(s)"; link_type => "symlink"; }
body package_method apt
{
  package_changes => "bulk";
  package_list_command => "/usr/bin/dpkg -l";
  package_list_name_regex => ".i\s+([^\s:]+).*";
  package_list_version_regex => ".i\s+[^\s]+\s+([^\s]+).*";
  package_installed_regex => ".i.*";
  package_name_convention => "$(name)";
  package_list_update_ifelapsed => "0";
  package_add_command => "/usr/bin/apt-get --yes install";
}
bundle agent main
{
`

func cfHostPolicy() string {
	var b strings.Builder
	b.WriteString(cfHostBodies)
	b.WriteString("packages:\n")
	for _, name := range hostPackages() {
		fmt.Fprintf(&b, "  %q package_policy => \"add\", package_method => apt;\n", name)
	}
	b.WriteString("users:\n")
	for i := range hostAccounts {
		fmt.Fprintf(&b, "  %q policy => \"present\", home_dir => \"/nonexistent\", shell => \"/usr/sbin/nologin\";\n",
			hostAccount(i))
	}
	b.WriteString("files:\n")
	for _, d := range hostFolders() {
		b.WriteString(cfFolder(d))
	}
	for i := range hostFiles {
		fmt.Fprintf(&b, "  %q perms => m, copy_from => cp(\"%s/files/f%02d\");\n", hostFile(i), hostInput, i)
	}
	for i := range hostLinks {
		fmt.Fprintf(&b, "  %q link_from => ln(%q);\n", hostLink(i), hostFile(i))
	}
	for i := range hostTemplates {
		name, port := hostVars(i)
		fmt.Fprintf(&b, "  %q create => \"true\", perms => m, template_method => \"mustache\", edit_template => \"%s/web.mustache\",\n    template_data => parsejson('{\"name\": \"%s\", \"port\": \"%s\"}');\n",
			hostTemplate(i), hostInput, name, port)
	}
	b.WriteString("}\n")
	return b.String()
}
