//! An ELF file without all that a monitor does not need: log strings and build identity are some
//! kilobytes of megabytes.

use anyhow::Result;
use object::build::elf::Builder;

/// Keeps the log strings (section and symbols) and the build identity.
pub fn only_log_strings(elf: &[u8]) -> Result<Vec<u8>> {
    let mut builder = Builder::read(elf)?;
    for section in &mut builder.sections {
        let name = section.name.to_vec();
        let kept: [&[u8]; 5] = [
            b".defmt",
            b".note.gnu.build-id",
            b".symtab",
            b".strtab",
            b".shstrtab",
        ];
        section.delete = !kept.contains(&name.as_slice());
    }
    for segment in &mut builder.segments {
        segment.delete = true;
    }
    let strings = builder
        .sections
        .iter()
        .find(|section| section.name.as_slice() == b".defmt");
    let strings = strings.map(|section| section.id());
    for symbol in &mut builder.symbols {
        let ours = symbol.section.is_some() && symbol.section == strings;
        symbol.delete = !(ours || symbol.name.starts_with(b"_defmt_"));
    }
    builder.delete_orphans();
    let mut bytes = Vec::new();
    builder.write(&mut bytes)?;
    Ok(bytes)
}
