//! What types hold, and what functions take.

use syn::visit::{self, Visit};

use super::mention::{Imports, Mention};
use super::methods::name_of;
use super::production::Dropped;

/// What one file says of types and of functions over them.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    /// Types with the names in their fields.
    pub(crate) types: Vec<(String, Vec<Mention>)>,
    /// Names in each argument of each function.
    pub(crate) functions: Vec<Vec<Vec<Mention>>>,
}

/// Reads a file without what was dropped of it.
pub(crate) fn of(file: &syn::File, dropped: &Dropped, imports: &Imports) -> Bundles {
    let mut reader = Reader { dropped, imports, around: None, bundles: Bundles::default() };
    reader.visit_file(file);
    reader.bundles
}

struct Reader<'a> {
    dropped: &'a Dropped,
    imports: &'a Imports,
    /// The `impl` block or trait around: the type of `self` and the parameters.
    around: Option<(String, &'a syn::Generics)>,
    bundles: Bundles,
}

impl<'a> Reader<'a> {
    fn fields<'f>(
        &mut self,
        name: &syn::Ident,
        generics: &syn::Generics,
        fields: impl Iterator<Item = &'f syn::Field>,
    ) {
        if self.dropped.has(name.span()) {
            return;
        }
        let is_dropped =
            |field: &&syn::Field| field.ident.as_ref().is_some_and(|name| self.dropped.has(name.span()));
        let fields = fields.filter(|field| !is_dropped(field));
        let mentions = fields.flat_map(|field| self.imports.mentions(&field.ty, &[generics])).collect();
        self.bundles.types.push((name.to_string(), mentions));
    }

    fn function(&mut self, signature: &syn::Signature) {
        if self.dropped.has(signature.ident.span()) {
            return;
        }
        let around = self.around.as_ref();
        let generics: Vec<&syn::Generics> =
            around.map(|around| around.1).into_iter().chain([&signature.generics]).collect();
        let myself = around.map(|around| Mention { from: None, name: around.0.clone(), is_owned: false });
        let argument = |argument: &syn::FnArg| match argument {
            syn::FnArg::Receiver(_) => myself.clone().into_iter().collect(),
            syn::FnArg::Typed(typed) => {
                let mut mentions = self.imports.mentions(&typed.ty, &generics);
                let is_self = mentions.iter().any(|mention| mention.name == "Self");
                mentions.extend(myself.clone().filter(|_| is_self));
                mentions
            }
        };
        let arguments = signature.inputs.iter().map(argument).collect();
        self.bundles.functions.push(arguments);
    }

    fn inside(&mut self, name: Option<String>, generics: &'a syn::Generics, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.around, name.map(|name| (name, generics)));
        visit(self);
        self.around = outer;
    }
}

impl<'a> Visit<'a> for Reader<'a> {
    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.fields(&item.ident, &item.generics, item.fields.iter());
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.fields(&item.ident, &item.generics, item.variants.iter().flat_map(|variant| &variant.fields));
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        let mentions = self.imports.mentions(&item.ty, &[&item.generics]);
        self.bundles.types.push((item.ident.to_string(), mentions));
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let name = name_of(&item.self_ty);
        self.inside(name, &item.generics, |reader| visit::visit_item_impl(reader, item));
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        let name = Some(item.ident.to_string());
        self.inside(name, &item.generics, |reader| visit::visit_item_trait(reader, item));
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.function(&item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.function(&item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if item.default.is_some() {
            self.function(&item.sig);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::sources;
    use super::*;

    fn bundles(text: &str) -> Bundles {
        sources(&[("crates/proxy/src/a.rs", text)]).remove(0).bundles
    }

    fn names(mentions: &[Mention]) -> Vec<&str> {
        mentions.iter().map(|mention| mention.name.as_str()).collect()
    }

    #[test]
    fn types_have_the_names_in_their_fields() {
        let text = "struct A<T: B> { c: Rc<D>, e: T } enum F { G(H), I { j: K } } type L = (M, N);";
        let types = bundles(text).types;
        let shown: Vec<_> = types.iter().map(|(name, mentions)| (name.as_str(), names(mentions))).collect();
        let expected = [("A", vec!["Rc", "D", "T", "B"]), ("F", vec!["H", "K"]), ("L", vec!["M", "N"])];
        assert_eq!(shown, expected);
    }

    #[test]
    fn functions_have_the_names_in_each_argument() {
        let text = "impl<T: B> A<T> { fn f(&self, c: &C<T>) -> D { fn g(h: impl H) {} } }
            trait I { fn j(self) {} fn k(&self); }";
        let functions = bundles(text).functions;
        let shown: Vec<Vec<_>> =
            functions.iter().map(|arguments| arguments.iter().map(|one| names(one)).collect()).collect();
        let expected = [vec![vec!["A"], vec!["C", "T", "B"]], vec![vec!["H"]], vec![vec!["I"]]];
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_only_tests_have_is_left_out() {
        let text =
            "struct A {\n#[cfg(test)]\n b: B,\n c: C }\n#[cfg(test)]\nmod tests { struct D; fn e() {} }";
        let found = bundles(text);
        assert_eq!((found.types.len(), names(&found.types[0].1), found.functions.len()), (1, vec!["C"], 0));
    }
}
