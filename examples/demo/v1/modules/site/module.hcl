variable "domain" {
  type        = string
  description = "name that the site answers to"
}

locals {
  root = "/srv/www/${var.domain}"
}

# A tree of files: one step an entry. What is not in the tree is removed.
directory "site" {
  path   = local.root
  source = "files/www"
  purge  = true
}

file "config" {
  path     = "/etc/site/${var.domain}.conf"
  template = "templates/site.conf.tmpl"
  vars     = { domain = var.domain, root = local.root, tls = false }
  mode     = "0640"
}

directory "/etc/site" {}

directory "/srv/www" {}

# One line in a file that others write too.
host_entry "site" {
  name = var.domain
  ip   = "127.0.0.1"
}
