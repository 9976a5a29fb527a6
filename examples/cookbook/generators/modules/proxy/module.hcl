# module.site is a map of all instances by key, and module.site["checkout"] is one of them.
locals {
  routes = [for name, site in module.site : "route /${name} ${site.address}\n"]
}

file "/etc/proxy.conf" {
  content = "default ${module.site["checkout"].address}\n${join("", local.routes)}"
}
