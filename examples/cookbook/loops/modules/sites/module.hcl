variable "sites" {
  type = map(object({ owner = string, quota = number, archived = optional(bool, false) }))
}

locals {
  live = { for name, site in var.sites : name => site if !site.archived }
}

# One user for each owner, also if an owner has several sites.
user "owner" {
  for_each = toset([for site in values(var.sites) : site.owner])
  name     = each.value
  shell    = "/bin/bash"
}

directory "/srv/sites" {}

directory "site" {
  for_each = local.live
  path     = "/srv/sites/${each.key}"
  owner    = user.owner[each.value.owner].name
}

file "/etc/site-quotas" {
  content = "%{for name, site in local.live}${name} ${site.quota}G\n%{endfor}"
}
