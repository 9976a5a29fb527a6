# Where the targets come from: the other files of this directory. A group selects targets by label, no matter which
# block made them, and also hosts that enrol later.
role "mail" {}

target_group "shops" {
  labels = { role = "shop" }

  # Several instances of one module: one for each site of data/sites.yaml.
  module "site" {
    for_each = yamldecode(file("data/sites.yaml"))
    at_least = 1
    vars     = { port = each.value.port }
  }
  modules = ["proxy"]
}

# A cluster for each site, with the caches of both racks.
cluster "cache" {
  for_each = toset(["ams", "ber"])
  name     = "cache-${each.key}"
  labels   = { role = "cache", site = each.key }
}
